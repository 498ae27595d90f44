// Gradients of Paddle's recurrent layers by back-propagation through time; attributes as in
// fluid_rnn.cc:
//   fluid_gru_grad(input, weight, bias?, h0?, offsets, hidden, dhidden) -> dinput, dweight, dbias,
//   dh0
//   fluid_lstm_grad(input, weight, bias, offsets, hidden, cell, dhidden?, dcell?) -> dinput,
//   dweight, dbias
// All steps are known, so that gates and weights need one product over all rows; only the way back
// goes step by step.
#include <cmath>

#include "runtime/ops/gemm.h"
#include "runtime/ops/list.h"
#include "runtime/ops/nn.h"

namespace hub {
namespace {

template <class T>
T sigmoid(T x) {
  return 1 / (1 + std::exp(-x));
}

/// For each row the one before it in its sequence, in the order of the walk; -1 - sequence at the
/// start.
std::vector<int64_t> rows_before(std::span<const int64_t> offsets, bool reverse) {
  std::vector<int64_t> before(static_cast<size_t>(offsets.back()));
  for (size_t s = 0; s + 1 < offsets.size(); ++s) {
    for (int64_t row = offsets[s]; row < offsets[s + 1]; ++row) {
      const int64_t b = reverse ? row + 1 : row - 1;
      before[static_cast<size_t>(row)] =
          b < offsets[s] || b == offsets[s + 1] ? -1 - static_cast<int64_t>(s) : b;
    }
  }
  return before;
}

/// step(row) from the end of each walk to its start, sequences on several threads.
template <class Step>
void walk_back(std::span<const int64_t> offsets, bool reverse, Step step) {
  parallel(static_cast<int64_t>(offsets.size()) - 1, 1, [&](int64_t begin, int64_t end) {
    for (int64_t s = begin; s < end; ++s) {
      const int64_t from = offsets[static_cast<size_t>(s)];
      const int64_t to = offsets[static_cast<size_t>(s) + 1];
      for (int64_t i = from; i < to; ++i) step(reverse ? i : from + to - 1 - i);
    }
  });
}

/// The states that the rows began with: `state` of the row before, or the sequence's first one.
template <class T>
std::vector<T> states_before(const std::vector<int64_t>& before, const T* state, const T* first,
                             int64_t d) {
  std::vector<T> old(before.size() * static_cast<size_t>(d));
  for (size_t row = 0; row < before.size(); ++row) {
    const int64_t b = before[row];
    const T* from = b >= 0 ? state + b * d : first != nullptr ? first + (-1 - b) * d : nullptr;
    if (from != nullptr) std::copy_n(from, d, old.data() + row * static_cast<size_t>(d));
  }
  return old;
}

/// The sum over rows of each column of d[rows, width].
template <class T>
void column_sums(const std::vector<T>& d, int64_t width, T* sums) {
  std::vector<double> total(static_cast<size_t>(width));
  for (size_t i = 0; i < d.size(); ++i) total[i % total.size()] += d[i];
  std::transform(total.begin(), total.end(), sums, [](double v) { return static_cast<T>(v); });
}

std::vector<Spec> infer_gru_grad(const Infer& infer) {
  const Spec y = fluid_gru_op.infer(infer)[0];
  want(infer, 5, y);
  want(infer, 6, y);
  const DType type = y.dtype;
  const int64_t d = y.shape[1];
  return {infer.in(0), infer.in(1), {type, {1, 3 * d}}, {type, {infer.in(4).shape[0] - 1, d}}};
}

template <class T>
void gru_grad(const Call& call) {
  const int64_t rows = call.x(0).shape()[0], d = call.x(1).shape()[0];
  const bool origin = call.attrs.i("origin_mode", 0) != 0;
  const bool reverse = call.attrs.i("reverse", 0) != 0;
  const auto offsets = checked_offsets(call.x(4), rows);
  const auto before = rows_before(offsets, reverse);
  const T* weight = call.x(1).data<T>();
  const T* candidate = weight + 2 * d * d;
  const auto old =
      states_before(before, call.x(5).data<T>(), call.has(3) ? call.x(3).data<T>() : nullptr, d);
  std::vector<T> gates(call.x(0).data<T>(), call.x(0).data<T>() + rows * 3 * d);  // u, r, c
  for (size_t i = 0; call.has(2) && i < gates.size(); ++i)
    gates[i] += call.x(2).data<T>()[i % static_cast<size_t>(3 * d)];
  gemm(rows, 2 * d, d, Matrix<T>{old.data(), d, 1}, Matrix<T>{weight, 2 * d, 1}, gates.data(),
       3 * d, true);
  std::vector<T> reset(old.size());  // r * old
  for (int64_t row = 0; row < rows; ++row) {
    T* g = gates.data() + row * 3 * d;
    for (int64_t j = 0; j < 2 * d; ++j) g[j] = sigmoid(g[j]);
    for (int64_t j = 0; j < d; ++j) {
      const auto i = static_cast<size_t>(row * d + j);
      reset[i] = g[d + j] * old[i];
    }
  }
  gemm(rows, d, d, Matrix<T>{reset.data(), d, 1}, Matrix<T>{candidate, d, 1}, gates.data() + 2 * d,
       3 * d, true);
  std::vector<T> da(gates.size()), carried(old.size());
  std::vector<T> first((offsets.size() - 1) * static_cast<size_t>(d));  // d h0
  walk_back(offsets, reverse, [&](int64_t row) {
    const int64_t b = before[static_cast<size_t>(row)];
    T* back = b >= 0 ? carried.data() + b * d : first.data() + (-1 - b) * d;
    const T* g = gates.data() + row * 3 * d;
    const T* o = old.data() + row * d;
    const T* dy = call.x(6).data<T>() + row * d;
    const T* carry = carried.data() + row * d;
    T* a = da.data() + row * 3 * d;
    for (int64_t j = 0; j < d; ++j) {
      const T dh = dy[j] + carry[j], u = g[j], c = std::tanh(g[2 * d + j]);
      const T fresh = origin ? 1 - u : u;  // the candidate's part of h
      a[j] = dh * (origin ? o[j] - c : c - o[j]) * u * (1 - u);
      a[2 * d + j] = dh * fresh * (1 - c * c);
      back[j] = dh * (1 - fresh);
    }
    thread_local std::vector<T> dreset;
    dreset.assign(static_cast<size_t>(d), 0);
    gemm(1, d, d, Matrix<T>{a + 2 * d, d, 1}, Matrix<T>{candidate, 1, d}, dreset.data(), d);
    for (int64_t j = 0; j < d; ++j) {
      const T r = g[d + j], dr = dreset[static_cast<size_t>(j)];
      a[d + j] = dr * o[j] * r * (1 - r);
      back[j] += dr * r;
    }
    gemm(1, d, 2 * d, Matrix<T>{a, 2 * d, 1}, Matrix<T>{weight, 1, 2 * d}, back, d, true);
  });
  if (call.wants(0)) std::copy(da.begin(), da.end(), call.y().data<T>());
  if (call.wants(1)) {
    T* dw = call.y(1).data<T>();
    gemm(d, 2 * d, rows, Matrix<T>{old.data(), 1, d}, Matrix<T>{da.data(), 3 * d, 1}, dw, 2 * d);
    gemm(d, d, rows, Matrix<T>{reset.data(), 1, d}, Matrix<T>{da.data() + 2 * d, 3 * d, 1},
         dw + 2 * d * d, d);
  }
  if (call.wants(2)) column_sums(da, 3 * d, call.y(2).data<T>());
  if (call.wants(3)) std::copy(first.begin(), first.end(), call.y(3).data<T>());
}

void forward_gru_grad(const Call& call) {
  dispatch(Reals{}, call.x(0).dtype(), [&]<class T>() { gru_grad<T>(call); });
}

std::vector<Spec> infer_lstm_grad(const Infer& infer) {
  const Spec y = fluid_lstm_op.infer(infer)[0];
  for (size_t i = 4; i < 8; ++i) want(infer, i, y);
  return {infer.in(0), infer.in(1), infer.in(2)};
}

template <class T>
void lstm_grad(const Call& call) {
  const int64_t rows = call.x(0).shape()[0], d = call.x(1).shape()[0];
  const bool reverse = call.attrs.i("reverse", 0) != 0;
  const bool peepholes = call.attrs.i("peepholes", 1) != 0;
  const auto offsets = checked_offsets(call.x(3), rows);
  const auto before = rows_before(offsets, reverse);
  const T* weight = call.x(1).data<T>();
  const T* bias = call.x(2).data<T>();
  const std::vector<T> zeros(static_cast<size_t>(3 * d));
  const T* peep = peepholes ? bias + 4 * d : zeros.data();
  const T* cell = call.x(5).data<T>();
  const auto old_h = states_before<T>(before, call.x(4).data<T>(), nullptr, d);
  const auto old_c = states_before<T>(before, cell, nullptr, d);
  std::vector<T> gates(call.x(0).data<T>(), call.x(0).data<T>() + rows * 4 * d);  // c, i, f, o
  for (size_t i = 0; i < gates.size(); ++i) gates[i] += bias[i % static_cast<size_t>(4 * d)];
  gemm(rows, 4 * d, d, Matrix<T>{old_h.data(), d, 1}, Matrix<T>{weight, 4 * d, 1}, gates.data(),
       4 * d, true);
  std::vector<T> da(gates.size()), carried_h(old_h.size()), carried_c(old_c.size());
  walk_back(offsets, reverse, [&](int64_t row) {
    const int64_t b = before[static_cast<size_t>(row)];
    const T* g = gates.data() + row * 4 * d;
    T* a = da.data() + row * 4 * d;
    for (int64_t j = 0; j < d; ++j) {
      const auto at = static_cast<size_t>(row * d + j);
      const T before_c = old_c[at], c = cell[at], tanh_c = std::tanh(c);
      const T fresh = std::tanh(g[j]);
      const T in = sigmoid(g[d + j] + peep[j] * before_c);
      const T forget = sigmoid(g[2 * d + j] + peep[d + j] * before_c);
      const T out = sigmoid(g[3 * d + j] + peep[2 * d + j] * c);
      const T dh = carried_h[at] + (call.has(6) ? call.x(6).data<T>()[at] : T{});
      T dc = carried_c[at] + (call.has(7) ? call.x(7).data<T>()[at] : T{});
      a[3 * d + j] = dh * tanh_c * out * (1 - out);
      dc += dh * out * (1 - tanh_c * tanh_c) + a[3 * d + j] * peep[2 * d + j];
      a[j] = dc * in * (1 - fresh * fresh);
      a[d + j] = dc * fresh * in * (1 - in);
      a[2 * d + j] = dc * before_c * forget * (1 - forget);
      if (b >= 0) {
        carried_c[static_cast<size_t>(b * d + j)] =
            dc * forget + a[d + j] * peep[j] + a[2 * d + j] * peep[d + j];
      }
    }
    if (b >= 0) {
      gemm(1, d, 4 * d, Matrix<T>{a, 4 * d, 1}, Matrix<T>{weight, 1, 4 * d},
           carried_h.data() + b * d, d);
    }
  });
  if (call.wants(0)) std::copy(da.begin(), da.end(), call.y().data<T>());
  if (call.wants(1)) {
    gemm(d, 4 * d, rows, Matrix<T>{old_h.data(), 1, d}, Matrix<T>{da.data(), 4 * d, 1},
         call.y(1).data<T>(), 4 * d);
  }
  if (!call.wants(2)) return;
  T* db = call.y(2).data<T>();
  column_sums(da, 4 * d, db);
  std::vector<T> products(static_cast<size_t>(peepholes ? rows * 3 * d : 0));
  for (size_t k = 0; k < products.size(); ++k) {
    const auto width = static_cast<size_t>(d);
    const size_t row = k / (3 * width), gate = k / width % 3, j = k % width;
    const T state = gate == 2 ? cell[row * width + j] : old_c[row * width + j];
    products[k] = da[(row * 4 + gate + 1) * width + j] * state;
  }
  if (peepholes) column_sums(products, 3 * d, db + 4 * d);
}

void forward_lstm_grad(const Call& call) {
  dispatch(Reals{}, call.x(0).dtype(), [&]<class T>() { lstm_grad<T>(call); });
}

}  // namespace

extern const OpDef fluid_gru_grad_op = {
    .name = "fluid_gru_grad",
    .min_inputs = 7,
    .max_inputs = 7,
    .outputs = 4,
    .infer = infer_gru_grad,
    .forward = forward_gru_grad,
    .no_grad = "second derivatives of fluid_gru are not written"};
extern const OpDef fluid_lstm_grad_op = {
    .name = "fluid_lstm_grad",
    .min_inputs = 7,
    .max_inputs = 8,
    .outputs = 3,
    .infer = infer_lstm_grad,
    .forward = forward_lstm_grad,
    .no_grad = "second derivatives of fluid_lstm are not written"};

}  // namespace hub
