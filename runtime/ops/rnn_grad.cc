// Gradients of ONNX's recurrent layers by back-propagation through time, attributes as in rnn.cc:
//   rnn_grad, gru_grad, lstm_grad(x, w, r, b?, sequence_lens?, initial_h?, initial_c?, p?, dy?,
//   dy_h?, dy_c?) -> dx, dw, dr, db, d initial_h, d initial_c, dp
// The steps are computed again and kept; the weights' gradients are one product over all of them.
#include "runtime/ops/gemm.h"
#include "runtime/ops/nn.h"
#include "runtime/ops/rnn_gates.h"
#include "runtime/ops/rnn_sizes.h"

namespace hub {
namespace {

template <RnnKind kind>
std::vector<Spec> infer_recurrent_grad(const Infer& infer) {
  constexpr auto name = kind == RnnKind::rnn ? "rnn" : kind == RnnKind::gru ? "gru" : "lstm";
  const auto y = find_op(name)->infer(infer);
  for (size_t i = 0; i < 3; ++i) want(infer, 8 + i, i < y.size() ? y[i] : Spec{});
  const Spec& x = infer.in(0);
  const RnnSizes s = rnn_sizes(kind, infer.attrs, x.shape, infer.in(2).shape);
  return {x,
          infer.in(1),
          infer.in(2),
          {x.dtype, {s.directions, 2 * s.gates * s.hidden}},
          y[1],
          y[1],
          {x.dtype, {s.directions, 3 * s.hidden}}};
}

/// One direction. "Rows" are (step, sample) as x has them; what a sample does not reach stays zero.
template <class T>
class Back {
 public:
  Back(RnnKind kind, const Call& call, const RnnSizes& sizes, int64_t direction,
       std::vector<GateFunction> functions)
      : kind_(kind),
        call_(call),
        s_(sizes),
        direction_(direction),
        f_(std::move(functions)),
        n_(s_.hidden),
        wide_(s_.gates * n_),
        rows_(s_.steps * s_.batch) {
    reverse_ = direction == 1 || call.attrs.s("direction", "forward") == "reverse";
    linear_before_reset_ = call.attrs.i("linear_before_reset", 0) != 0;
    coupled_ = call.attrs.i("input_forget", 0) != 0;
    w_ = call.x(1).data<T>() + direction * wide_ * s_.features;
    r_ = call.x(2).data<T>() + direction * wide_ * n_;
    bias_.assign(static_cast<size_t>(2 * wide_), 0);
    if (call.has(3))
      std::copy_n(call.x(3).data<T>() + direction * 2 * wide_, 2 * wide_, bias_.data());
    peep_.assign(static_cast<size_t>(3 * n_), 0);
    if (call.has(7)) std::copy_n(call.x(7).data<T>() + direction * 3 * n_, 3 * n_, peep_.data());
    for (int64_t b = 0; b < s_.batch; ++b)
      lengths_.push_back(call.has(4) ? call.x(4).data<int32_t>()[b] : s_.steps);
    for (auto* v : {&before_h_, &before_c_, &cell_, &reset_, &fed_})
      v->assign(static_cast<size_t>(rows_ * n_), 0);
    for (auto* v : {&z_, &dz_, &de_}) v->assign(static_cast<size_t>(rows_ * wide_), 0);
  }

  void run() {
    forward();
    std::vector<T> dh = state(9), dc = state(10);
    for (int64_t step = s_.steps; step-- > 0;) {
      for (int64_t b = 0; b < s_.batch; ++b) {
        if (step < lengths_[static_cast<size_t>(b)])
          back(row(step, b), dh.data() + b * n_, dc.data() + b * n_, dy(step, b));
      }
    }
    write_state(4, dh);
    write_state(5, dc);
    write_rest();
  }

 private:
  int64_t time(int64_t step, int64_t b) const {
    return reverse_ ? lengths_[static_cast<size_t>(b)] - 1 - step : step;
  }
  int64_t row(int64_t step, int64_t b) const {
    const int64_t t = time(step, b);
    return s_.batch_first ? b * s_.steps + t : t * s_.batch + b;
  }
  /// Where sample b of this direction begins in a state.
  int64_t place(int64_t b) const {
    return (s_.batch_first ? b * s_.directions + direction_ : direction_ * s_.batch + b) * n_;
  }
  const T* dy(int64_t step, int64_t b) const {
    if (!call_.has(8)) return nullptr;
    const int64_t t = time(step, b), d = s_.directions;
    return call_.x(8).data<T>() + (s_.batch_first ? (b * s_.steps + t) * d + direction_
                                                  : (t * d + direction_) * s_.batch + b) *
                                      n_;
  }
  std::vector<T> state(size_t input) const {
    std::vector<T> v(static_cast<size_t>(s_.batch * n_));
    for (int64_t b = 0; call_.has(input) && b < s_.batch; ++b)
      std::copy_n(call_.x(input).data<T>() + place(b), n_, v.data() + b * n_);
    return v;
  }
  void write_state(size_t output, const std::vector<T>& v) const {
    for (int64_t b = 0; call_.wants(output) && b < s_.batch; ++b)
      std::copy_n(v.data() + b * n_, n_, call_.y(output).data<T>() + place(b));
  }

  void forward() {
    gemm(rows_, wide_, s_.features, Matrix<T>{call_.x(0).data<T>(), s_.features, 1},
         Matrix<T>{w_, 1, s_.features}, z_.data(), wide_);
    std::vector<T> h = state(5), c = state(6), fed(static_cast<size_t>(s_.batch * wide_));
    for (int64_t step = 0; step < s_.steps; ++step) {
      gemm(s_.batch, wide_, n_, Matrix<T>{h.data(), n_, 1}, Matrix<T>{r_, 1, n_}, fed.data(),
           wide_);
      for (int64_t b = 0; b < s_.batch; ++b) {
        if (step < lengths_[static_cast<size_t>(b)])
          advance(row(step, b), fed.data() + b * wide_, h.data() + b * n_, c.data() + b * n_);
      }
    }
  }

  /// Completes the gates' arguments z of a row and moves its state on.
  void advance(int64_t row, T* fed, T* h, T* c) {
    T* z = z_.data() + row * wide_;
    const T* both = bias_.data();
    std::copy_n(h, n_, before_h_.data() + row * n_);
    std::copy_n(c, n_, before_c_.data() + row * n_);
    for (int64_t j = 0; j < wide_; ++j) {
      const bool candidate = kind_ == RnnKind::gru && j >= 2 * n_;
      z[j] += both[j] + (candidate ? T{} : fed[j] + both[wide_ + j]);
    }
    if (kind_ == RnnKind::rnn) {
      for (int64_t j = 0; j < n_; ++j) h[j] = f_[0](z[j]);
    } else if (kind_ == RnnKind::gru) {
      T* reset = reset_.data() + row * n_;
      T* linear = fed_.data() + row * n_;
      for (int64_t j = 0; j < n_; ++j) reset[j] = f_[0](z[n_ + j]) * h[j];
      if (linear_before_reset_) {
        std::copy_n(fed + 2 * n_, n_, linear);
      } else {
        gemm(1, n_, n_, Matrix<T>{reset, n_, 1}, Matrix<T>{r_ + 2 * n_ * n_, 1, n_}, linear, n_);
      }
      for (int64_t j = 0; j < n_; ++j) {
        linear[j] += both[wide_ + 2 * n_ + j];
        z[2 * n_ + j] += linear_before_reset_ ? f_[0](z[n_ + j]) * linear[j] : linear[j];
        const T u = f_[0](z[j]);
        h[j] = (1 - u) * f_[1](z[2 * n_ + j]) + u * h[j];
      }
    } else {
      for (int64_t j = 0; j < n_; ++j) {
        z[j] += peep(0, j) * c[j];
        z[2 * n_ + j] += peep(2, j) * c[j];
        const T in = f_[0](z[j]);
        const T forget = coupled_ ? 1 - in : f_[0](z[2 * n_ + j]);
        c[j] = forget * c[j] + in * f_[1](z[3 * n_ + j]);
        z[n_ + j] += peep(1, j) * c[j];
        h[j] = f_[0](z[n_ + j]) * f_[2](c[j]);
      }
      std::copy_n(c, n_, cell_.data() + row * n_);
    }
  }

  T peep(int64_t gate, int64_t j) const { return peep_[static_cast<size_t>(gate * n_ + j)]; }

  /// From the gradients behind a row to those of its arguments and of the state before it.
  void back(int64_t row, T* dh, T* dc, const T* dy) {
    const T* z = z_.data() + row * wide_;
    T* d = dz_.data() + row * wide_;
    T* e = de_.data() + row * wide_;  // of the recurrent product; only in a gru not d
    const T* h = before_h_.data() + row * n_;
    for (int64_t j = 0; dy != nullptr && j < n_; ++j) dh[j] += dy[j];
    if (kind_ == RnnKind::rnn) {
      for (int64_t j = 0; j < n_; ++j) d[j] = dh[j] * f_[0].slope(z[j]);
      std::copy_n(d, n_, e);
      return feed_back(e, wide_, dh, false);
    }
    if (kind_ == RnnKind::lstm) {
      lstm(row, z, d, dh, dc);
      std::copy_n(d, wide_, e);
      return feed_back(e, wide_, dh, false);
    }
    const T* linear = fed_.data() + row * n_;
    for (int64_t j = 0; j < n_; ++j) {
      const T u = f_[0](z[j]), fresh = f_[1](z[2 * n_ + j]);
      d[j] = e[j] = dh[j] * (h[j] - fresh) * f_[0].slope(z[j]);
      d[2 * n_ + j] = e[2 * n_ + j] = dh[j] * (1 - u) * f_[1].slope(z[2 * n_ + j]);
      dh[j] *= u;
    }
    if (linear_before_reset_) {
      for (int64_t j = 0; j < n_; ++j) {
        d[n_ + j] = e[n_ + j] = d[2 * n_ + j] * linear[j] * f_[0].slope(z[n_ + j]);
        e[2 * n_ + j] *= f_[0](z[n_ + j]);
      }
      return feed_back(e, wide_, dh, true);
    }
    std::vector<T> dreset(static_cast<size_t>(n_));
    gemm(1, n_, n_, Matrix<T>{d + 2 * n_, n_, 1}, Matrix<T>{r_ + 2 * n_ * n_, n_, 1}, dreset.data(),
         n_);
    for (int64_t j = 0; j < n_; ++j) {
      const T dr = dreset[static_cast<size_t>(j)];
      d[n_ + j] = e[n_ + j] = dr * h[j] * f_[0].slope(z[n_ + j]);
      dh[j] += dr * f_[0](z[n_ + j]);
    }
    feed_back(e, 2 * n_, dh, true);
  }

  void lstm(int64_t row, const T* z, T* d, const T* dh, T* dc) const {
    const T* before = before_c_.data() + row * n_;
    const T* cell = cell_.data() + row * n_;
    for (int64_t j = 0; j < n_; ++j) {
      const T in = f_[0](z[j]), out = f_[0](z[n_ + j]), fresh = f_[1](z[3 * n_ + j]);
      const T forget = coupled_ ? 1 - in : f_[0](z[2 * n_ + j]);
      d[n_ + j] = dh[j] * f_[2](cell[j]) * f_[0].slope(z[n_ + j]);
      const T c = dc[j] + dh[j] * out * f_[2].slope(cell[j]) + d[n_ + j] * peep(1, j);
      d[j] = c * (coupled_ ? fresh - before[j] : fresh) * f_[0].slope(z[j]);
      d[2 * n_ + j] = coupled_ ? T{} : c * before[j] * f_[0].slope(z[2 * n_ + j]);
      d[3 * n_ + j] = c * in * f_[1].slope(z[3 * n_ + j]);
      dc[j] = c * forget + d[j] * peep(0, j) + d[2 * n_ + j] * peep(2, j);
    }
  }

  /// dh = e[0, gates) · R, or added to it.
  void feed_back(const T* e, int64_t gates, T* dh, bool add) const {
    gemm(1, n_, gates, Matrix<T>{e, gates, 1}, Matrix<T>{r_, n_, 1}, dh, n_, add);
  }

  void write_rest() const {
    const int64_t k = s_.features;
    if (call_.wants(0)) {
      gemm(rows_, k, wide_, Matrix<T>{dz_.data(), wide_, 1}, Matrix<T>{w_, k, 1},
           call_.y(0).data<T>(), k, direction_ > 0);
    }
    if (call_.wants(1)) {
      gemm(wide_, k, rows_, Matrix<T>{dz_.data(), 1, wide_}, Matrix<T>{call_.x(0).data<T>(), k, 1},
           call_.y(1).data<T>() + direction_ * wide_ * k, k);
    }
    if (call_.wants(2)) {
      T* dr = call_.y(2).data<T>() + direction_ * wide_ * n_;
      const bool split = kind_ == RnnKind::gru && !linear_before_reset_;
      const int64_t part = split ? 2 * n_ : wide_;
      gemm(part, n_, rows_, Matrix<T>{de_.data(), 1, wide_}, Matrix<T>{before_h_.data(), n_, 1}, dr,
           n_);
      if (split) {
        gemm(n_, n_, rows_, Matrix<T>{de_.data() + part, 1, wide_}, Matrix<T>{reset_.data(), n_, 1},
             dr + part * n_, n_);
      }
    }
    if (call_.wants(3)) {
      T* db = call_.y(3).data<T>() + direction_ * 2 * wide_;
      for (int64_t j = 0; j < wide_; ++j) {
        double input = 0, recurrent = 0;
        for (int64_t row = 0; row < rows_; ++row) {
          input += dz_[static_cast<size_t>(row * wide_ + j)];
          recurrent += de_[static_cast<size_t>(row * wide_ + j)];
        }
        db[j] = static_cast<T>(input);
        db[wide_ + j] = static_cast<T>(recurrent);
      }
    }
    if (!call_.wants(6)) return;
    for (int64_t g = 0; g < 3; ++g) {
      for (int64_t j = 0; j < n_; ++j) {
        double sum = 0;
        for (int64_t row = 0; kind_ == RnnKind::lstm && row < rows_; ++row) {
          const auto& c = g == 1 ? cell_ : before_c_;
          sum += dz_[static_cast<size_t>(row * wide_ + g * n_ + j)] *
                 c[static_cast<size_t>(row * n_ + j)];
        }
        call_.y(6).data<T>()[(direction_ * 3 + g) * n_ + j] = static_cast<T>(sum);
      }
    }
  }

  RnnKind kind_;
  const Call& call_;
  const RnnSizes& s_;
  int64_t direction_;
  std::vector<GateFunction> f_;
  int64_t n_, wide_, rows_;
  bool reverse_ = false, linear_before_reset_ = false, coupled_ = false;
  const T *w_, *r_;
  std::vector<T> bias_, peep_;  // bias_: of the input, then of the recurrent product
  std::vector<int64_t> lengths_;
  std::vector<T> z_, dz_, de_;                               // [rows, gates]
  std::vector<T> before_h_, before_c_, cell_, reset_, fed_;  // [rows, H]
};

template <RnnKind kind>
void forward_recurrent_grad(const Call& call) {
  const RnnSizes s = rnn_sizes(kind, call.attrs, call.x(0).shape(), call.x(2).shape());
  auto functions = gate_functions(call.attrs, rnn_functions(kind), s.directions);
  dispatch(Reals{}, call.x(0).dtype(), [&]<class T>() {
    for (int64_t d = 0; d < s.directions; ++d)
      Back<T>(kind, call, s, d, functions[static_cast<size_t>(d)]).run();
  });
}

template <RnnKind kind>
OpDef recurrent_grad(std::string_view name, std::string_view no_grad) {
  return {.name = name,
          .min_inputs = 9,
          .max_inputs = 11,
          .outputs = 7,
          .infer = infer_recurrent_grad<kind>,
          .forward = widened<forward_recurrent_grad<kind>>,
          .no_grad = no_grad};
}

}  // namespace

extern const std::vector<OpDef> recurrent_grad_ops = {
    recurrent_grad<RnnKind::rnn>("rnn_grad", "second derivatives of rnn are not written"),
    recurrent_grad<RnnKind::gru>("gru_grad", "second derivatives of gru are not written"),
    recurrent_grad<RnnKind::lstm>("lstm_grad", "second derivatives of lstm are not written")};

}  // namespace hub
