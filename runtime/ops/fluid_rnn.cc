// Paddle's recurrent layers over sequences [rows, features] with int64 offsets [0, …, rows]; the
// input is projected already.
//   fluid_gru(input [T, 3D], weight [D, 3D], bias [1, 3D]?, h0 [sequences, D]?, offsets) -> hidden
//   [T, D]
//     reverse, origin_mode. Gates u, r, c; the weight is two matrices one behind the other, [D, 2D]
//     and [D, D].
//   fluid_lstm(input [T, 4D], weight [D, 4D], bias [1, 4D or 7D], offsets) -> hidden [T, D], cell
//   [T, D]
//     reverse, peepholes. Gates c, i, f, o; the last 3D of the bias are the peepholes of i, f and
//     o.
// With `reverse` each sequence is walked from its end; results stay at their rows.
#include <cmath>

#include "runtime/ops/gemm.h"
#include "runtime/ops/grad.h"
#include "runtime/ops/nn.h"
#include "runtime/ops/rules.h"

namespace hub {
namespace {

template <class T>
T sigmoid(T x) {
  return 1 / (1 + std::exp(-x));
}

/// Checks input and weight for `gates` gates and returns D.
int64_t width(const Infer& infer, int64_t gates) {
  check_type(infer, 0, Reals{});
  const Spec& x = infer.in(0);
  if (x.shape.rank() != 2 || x.shape[1] % gates != 0) {
    fail(Code::refused, "the projected input is ", x.str(), "; [T, ", gates, " * D] is wanted");
  }
  const int64_t d = x.shape[1] / gates;
  need(infer, 1, {x.dtype, {d, gates * d}});
  return d;
}

void want_offsets(const Infer& infer, size_t i) {
  const Spec& s = infer.in(i);
  if (s.dtype != DType::i64 || s.shape.rank() != 1)
    fail(Code::refused, "the offsets are ", s.str(), "; int64[n] is wanted");
}

/// Walks all sequences: step(row, previous row or -1 at the start, index of the sequence).
template <class Step>
void walk(const Tensor& offsets, int64_t rows, bool reverse, Step step) {
  const auto at = checked_offsets(offsets, rows);
  parallel(static_cast<int64_t>(at.size()) - 1, 1, [&](int64_t begin, int64_t end) {
    for (int64_t s = begin; s < end; ++s) {
      const int64_t from = at[static_cast<size_t>(s)];
      const int64_t to = at[static_cast<size_t>(s) + 1];
      for (int64_t i = from; i < to; ++i) {
        const int64_t row = reverse ? from + to - 1 - i : i;
        step(row, i == from ? -1 : reverse ? row + 1 : row - 1, s);
      }
    }
  });
}

std::vector<Spec> infer_gru(const Infer& infer) {
  const int64_t d = width(infer, 3);
  const DType type = infer.in(0).dtype;
  want(infer, 2, {type, {1, 3 * d}});
  want_offsets(infer, 4);
  if (infer.has(3)) want(infer, 3, {type, {infer.in(4).shape[0] - 1, d}});
  return {{type, {infer.in(0).shape[0], d}}};
}

template <class T>
void gru(const Call& call) {
  const int64_t rows = call.x(0).shape()[0];
  const int64_t d = call.y().shape()[1];
  const bool origin = call.attrs.i("origin_mode", 0) != 0;
  const T* weight = call.x(1).data<T>();
  const Matrix<T> gates{weight, 2 * d, 1};
  const Matrix<T> candidate{weight + 2 * d * d, d, 1};
  const std::vector<T> zeros(static_cast<size_t>(3 * d));
  const T* bias = call.has(2) ? call.x(2).data<T>() : zeros.data();
  walk(call.x(4), rows, call.attrs.i("reverse", 0) != 0,
       [&](int64_t row, int64_t before, int64_t sequence) {
         thread_local std::vector<T> buffer;
         buffer.resize(static_cast<size_t>(4 * d));
         T* x = buffer.data();  // u, r, c
         T* reset = x + 3 * d;  // r * h
         T* h = call.y().data<T>() + row * d;
         const T* old = before >= 0   ? call.y().data<T>() + before * d
                        : call.has(3) ? call.x(3).data<T>() + sequence * d
                                      : zeros.data();
         const T* in = call.x(0).data<T>() + row * 3 * d;
         for (int64_t j = 0; j < 3 * d; ++j) x[j] = in[j] + bias[j];
         gemm(1, 2 * d, d, Matrix<T>{old, d, 1}, gates, x, 2 * d, true);
         for (int64_t j = 0; j < 2 * d; ++j) x[j] = sigmoid(x[j]);
         for (int64_t j = 0; j < d; ++j) reset[j] = x[d + j] * old[j];
         gemm(1, d, d, Matrix<T>{reset, d, 1}, candidate, x + 2 * d, d, true);
         for (int64_t j = 0; j < d; ++j) {
           const T fresh = std::tanh(x[2 * d + j]);
           h[j] = origin ? x[j] * old[j] + (1 - x[j]) * fresh : (1 - x[j]) * old[j] + x[j] * fresh;
         }
       });
}

void forward_gru(const Call& call) {
  dispatch(Reals{}, call.x(0).dtype(), [&]<class T>() { gru<T>(call); });
}

std::vector<Spec> infer_lstm(const Infer& infer) {
  const int64_t d = width(infer, 4);
  const DType type = infer.in(0).dtype;
  const bool peepholes = infer.attrs.i("peepholes", 1) != 0;
  infer.in(2);
  want(infer, 2, {type, {1, (peepholes ? 7 : 4) * d}});
  want_offsets(infer, 3);
  const Spec y{type, {infer.in(0).shape[0], d}};
  return {y, y};
}

template <class T>
void lstm(const Call& call) {
  const int64_t rows = call.x(0).shape()[0];
  const int64_t d = call.x(1).shape()[0];
  const T* weight = call.x(1).data<T>();
  const T* bias = call.x(2).data<T>();
  const std::vector<T> zeros(static_cast<size_t>(3 * d));
  const T* peep = call.attrs.i("peepholes", 1) != 0 ? bias + 4 * d : zeros.data();
  Tensor kept;  // the output that nobody wants
  if (!call.wants(0) || !call.wants(1)) kept = Tensor(dtype_of<T>(), {rows, d});
  T* hidden = call.wants(0) ? call.y().data<T>() : kept.data<T>();
  T* cells = call.wants(1) ? call.y(1).data<T>() : kept.data<T>();
  walk(call.x(3), rows, call.attrs.i("reverse", 0) != 0, [&](int64_t row, int64_t before, int64_t) {
    thread_local std::vector<T> buffer;
    buffer.resize(static_cast<size_t>(4 * d));
    T* x = buffer.data();  // c, i, f, o
    const T* old_h = before < 0 ? zeros.data() : hidden + before * d;
    const T* old_c = before < 0 ? zeros.data() : cells + before * d;
    const T* in = call.x(0).data<T>() + row * 4 * d;
    for (int64_t j = 0; j < 4 * d; ++j) x[j] = in[j] + bias[j];
    gemm(1, 4 * d, d, Matrix<T>{old_h, d, 1}, Matrix<T>{weight, 4 * d, 1}, x, 4 * d, true);
    for (int64_t j = 0; j < d; ++j) {
      const T input = sigmoid(x[d + j] + peep[j] * old_c[j]);
      const T forget = sigmoid(x[2 * d + j] + peep[d + j] * old_c[j]);
      const T c = std::tanh(x[j]) * input + forget * old_c[j];
      cells[row * d + j] = c;
      hidden[row * d + j] = sigmoid(x[3 * d + j] + peep[2 * d + j] * c) * std::tanh(c);
    }
  });
}

void forward_lstm(const Call& call) {
  dispatch(Reals{}, call.x(0).dtype(), [&]<class T>() { lstm<T>(call); });
}

void grad_gru(Grad& g) {
  const Vars d = apply(*find_op("fluid_gru_grad"),
                       {g.x(0), g.x(1), g.x(2), g.x(3), g.x(4), g.y(), g.dy()}, g.attrs, 4);
  for (size_t i = 0; i < 4; ++i) g.dx(i, d[i]);
}

void grad_lstm(Grad& g) {
  Vars y{g.y(0), g.y(1)};
  if (!y[0] || !y[1])
    y = apply(*find_op("fluid_lstm"), {g.x(0), g.x(1), g.x(2), g.x(3)}, g.attrs, 2);
  const Vars d = apply(*find_op("fluid_lstm_grad"),
                       {g.x(0), g.x(1), g.x(2), g.x(3), y[0], y[1], g.dy(0), g.dy(1)}, g.attrs, 3);
  for (size_t i = 0; i < 3; ++i) g.dx(i, d[i]);
}

void only(const ImportNode& n, std::string_view attribute, std::string_view value) {
  const std::string found = n.attrs.s(attribute, value);
  if (found != value) n.refuse("'", attribute, "' is '", found, "', only '", value, "' is known");
}

void paddle_gru(ImportNode& n) {
  only(n, "activation", "tanh");
  only(n, "gate_activation", "sigmoid");
  const Var offsets = n.offsets("Input");
  n.out("Hidden",
        apply("fluid_gru", {n.need("Input"), n.need("Weight"), n.in("Bias"), n.in("H0"), offsets},
              {{"reverse", n.attrs.i("is_reverse", 0)},
               {"origin_mode", n.attrs.i("origin_mode", 0)}}));
  n.set_offsets("Hidden", offsets);
}

void paddle_lstm(ImportNode& n) {
  only(n, "gate_activation", "sigmoid");
  only(n, "cell_activation", "tanh");
  only(n, "candidate_activation", "tanh");
  if (n.in("H0") || n.in("C0")) n.refuse("initial states cannot be imported yet");
  const Var offsets = n.offsets("Input");
  const Vars y = apply(
      *find_op("fluid_lstm"), {n.need("Input"), n.need("Weight"), n.need("Bias"), offsets},
      {{"reverse", n.attrs.i("is_reverse", 0)}, {"peepholes", n.attrs.i("use_peepholes", 1)}}, 2);
  n.out("Hidden", y[0]);
  n.set_offsets("Hidden", offsets);
  n.out("Cell", y[1]);
  n.set_offsets("Cell", offsets);
}

}  // namespace

extern const OpDef fluid_gru_op = {.name = "fluid_gru",
                                   .min_inputs = 5,
                                   .max_inputs = 5,
                                   .infer = infer_gru,
                                   .forward = forward_gru,
                                   .grad = grad_gru,
                                   .imports = {{"paddle:gru", paddle_gru}}};
extern const OpDef fluid_lstm_op = {.name = "fluid_lstm",
                                    .min_inputs = 4,
                                    .max_inputs = 4,
                                    .outputs = 2,
                                    .infer = infer_lstm,
                                    .forward = forward_lstm,
                                    .grad = grad_lstm,
                                    .imports = {{"paddle:lstm", paddle_lstm}}};

}  // namespace hub
