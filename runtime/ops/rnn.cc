// ONNX's recurrent layers, with its attributes (direction, hidden_size, activations…, clip,
// layout):
//   rnn(x, w, r, b?, sequence_lens?, initial_h?) -> y, y_h
//   gru(the same) -> y, y_h                                      linear_before_reset; gates z, r, h
//   lstm(x, w, r, b?, sequence_lens?, initial_h?, initial_c?, p?) -> y, y_h, y_c      input_forget;
//   gates i, o, f, c
// x [S, B, I], y [S, directions, B, H], states [directions, B, H]; layout 1: [B, S, I], [B, S,
// directions, H] and [B, directions, H].
#include "runtime/ops/gemm.h"
#include "runtime/ops/grad.h"
#include "runtime/ops/nn.h"
#include "runtime/ops/rnn_gates.h"
#include "runtime/ops/rnn_import.h"
#include "runtime/ops/rnn_sizes.h"
#include "runtime/ops/rules.h"

namespace hub {
namespace {

template <RnnKind kind>
std::vector<Spec> infer_recurrent(const Infer& infer) {
  const Spec& x = real_input(infer, 0, 3, 3);
  const Shape& r = real_input(infer, 2, 3, 3).shape;
  const RnnSizes s = rnn_sizes(kind, infer.attrs, x.shape, r);
  if (infer.attrs.i("hidden_size", s.hidden) != s.hidden) {
    fail(Code::refused, "'hidden_size' is ", infer.attrs.i("hidden_size"), " with weights of ",
         r.str());
  }
  need(infer, 1, {x.dtype, {s.directions, s.gates * s.hidden, s.features}});
  want(infer, 2, {x.dtype, {s.directions, s.gates * s.hidden, s.hidden}});
  want(infer, 3, {x.dtype, {s.directions, 2 * s.gates * s.hidden}});
  want(infer, 4, {DType::i32, {s.batch}});
  const Spec state = s.spec(x.dtype, false);
  want(infer, 5, state);
  want(infer, 6, state);
  want(infer, 7, {x.dtype, {s.directions, 3 * s.hidden}});
  gate_functions(infer.attrs, rnn_functions(kind), s.directions);
  std::vector<Spec> out{s.spec(x.dtype, true), state};
  if (kind == RnnKind::lstm) out.push_back(state);
  return out;
}

/// One direction of one call.
template <class T>
class Layer {
 public:
  Layer(RnnKind kind, const Call& call, const RnnSizes& sizes, int64_t direction,
        std::vector<GateFunction> functions)
      : kind_(kind), call_(call), s_(sizes), direction_(direction), f_(std::move(functions)) {
    const int64_t wide = s_.gates * s_.hidden;
    reverse_ = direction == 1 || call.attrs.s("direction", "forward") == "reverse";
    linear_before_reset_ = call.attrs.i("linear_before_reset", 0) != 0;
    coupled_ = call.attrs.i("input_forget", 0) != 0;
    // r transposed once, so that the product of every step reads it as it lies.
    const T* r = call.x(2).data<T>() + direction * wide * s_.hidden;
    recurrent_.resize(static_cast<size_t>(wide * s_.hidden));
    for (int64_t g = 0; g < wide; ++g) {
      for (int64_t h = 0; h < s_.hidden; ++h)
        recurrent_[static_cast<size_t>(h * wide + g)] = r[g * s_.hidden + h];
    }
    if (call.has(3)) {
      const T* b = call.x(3).data<T>() + direction * 2 * wide;
      input_bias_.assign(b, b + wide);
      recurrent_bias_.assign(b + wide, b + 2 * wide);
    } else {
      input_bias_.assign(static_cast<size_t>(wide), 0);
      recurrent_bias_ = input_bias_;
    }
    h_ = initial(5);
    c_ = initial(6);
    if (call.has(7)) {
      const T* p = call.x(7).data<T>() + direction * 3 * s_.hidden;
      peep_.assign(p, p + 3 * s_.hidden);
    } else {
      peep_.assign(static_cast<size_t>(3 * s_.hidden), 0);
    }
    for (int64_t b = 0; b < s_.batch; ++b) {
      const int64_t length = call.has(4) ? call.x(4).data<int32_t>()[b] : s_.steps;
      if (length < 0 || length > s_.steps)
        fail(Code::refused, "a sequence of ", length, " in ", s_.steps, " steps");
      lengths_.push_back(length);
    }
  }

  void run() {
    const int64_t wide = s_.gates * s_.hidden;
    const int64_t rows = s_.steps * s_.batch;
    std::vector<T> projected(static_cast<size_t>(rows * wide));
    gemm(rows, wide, s_.features, Matrix<T>{call_.x(0).data<T>(), s_.features, 1},
         Matrix<T>{call_.x(1).data<T>() + direction_ * wide * s_.features, 1, s_.features},
         projected.data(), wide);
    std::vector<T> fed_back(static_cast<size_t>(s_.batch * wide));
    for (int64_t step = 0; step < s_.steps; ++step) {
      gemm(s_.batch, wide, s_.hidden, Matrix<T>{h_.data(), s_.hidden, 1},
           Matrix<T>{recurrent_.data(), wide, 1}, fed_back.data(), wide);
      for (int64_t b = 0; b < s_.batch; ++b) {
        const int64_t t = reverse_ ? lengths_[static_cast<size_t>(b)] - 1 - step : step;
        if (step >= lengths_[static_cast<size_t>(b)]) continue;
        const int64_t row = s_.batch_first ? b * s_.steps + t : t * s_.batch + b;
        advance(projected.data() + row * wide, fed_back.data() + b * wide, b);
        write(0, h_, b, t);
      }
    }
    for (int64_t b = 0; b < s_.batch; ++b) {
      write(1, h_, b, 0);
      if (kind_ == RnnKind::lstm) write(2, c_, b, 0);
    }
  }

 private:
  /// Where sample b (at step t, for output 0) of this direction stands in a state or output.
  int64_t place(bool all_steps, int64_t b, int64_t t) const {
    const int64_t d = s_.directions;
    if (!all_steps)
      return (s_.batch_first ? b * d + direction_ : direction_ * s_.batch + b) * s_.hidden;
    return (s_.batch_first ? (b * s_.steps + t) * d + direction_
                           : (t * d + direction_) * s_.batch + b) *
           s_.hidden;
  }

  std::vector<T> initial(size_t input) const {
    std::vector<T> state(static_cast<size_t>(s_.batch * s_.hidden));
    for (int64_t b = 0; call_.has(input) && b < s_.batch; ++b) {
      std::copy_n(call_.x(input).data<T>() + place(false, b, 0), s_.hidden,
                  state.data() + b * s_.hidden);
    }
    return state;
  }

  void write(size_t output, const std::vector<T>& state, int64_t b, int64_t t) const {
    if (output >= call_.out.size() || call_.out[output] == nullptr) return;
    std::copy_n(state.data() + b * s_.hidden, s_.hidden,
                call_.y(output).data<T>() + place(output == 0, b, t));
  }

  void advance(const T* x, const T* r, int64_t b) {
    T* h = h_.data() + b * s_.hidden;
    T* c = c_.data() + b * s_.hidden;
    switch (kind_) {
      case RnnKind::rnn:
        for (int64_t j = 0; j < s_.hidden; ++j) h[j] = f_[0](gate(x, r, 0, j));
        break;
      case RnnKind::gru: gru(x, r, h); break;
      case RnnKind::lstm: lstm(x, r, h, c); break;
    }
  }

  /// The argument of gate g for unit j.
  T gate(const T* x, const T* r, int64_t g, int64_t j) const {
    const int64_t at = g * s_.hidden + j;
    const auto i = static_cast<size_t>(at);
    return x[at] + r[at] + input_bias_[i] + recurrent_bias_[i];
  }

  void gru(const T* x, const T* r, T* h) {
    const int64_t n = s_.hidden;
    const int64_t wide = 3 * n;
    std::vector<T> reset(static_cast<size_t>(n));
    std::vector<T> candidate(static_cast<size_t>(n));
    for (int64_t j = 0; j < n; ++j) {
      const auto i = static_cast<size_t>(j);
      const T gate_r = f_[0](gate(x, r, 1, j));
      reset[i] = gate_r * h[j];
      candidate[i] = gate_r * (r[2 * n + j] + recurrent_bias_[static_cast<size_t>(2 * n + j)]);
    }
    if (!linear_before_reset_) {
      gemm(1, n, n, Matrix<T>{reset.data(), n, 1}, Matrix<T>{recurrent_.data() + 2 * n, wide, 1},
           candidate.data(), n);
      for (int64_t j = 0; j < n; ++j)
        candidate[static_cast<size_t>(j)] += recurrent_bias_[static_cast<size_t>(2 * n + j)];
    }
    for (int64_t j = 0; j < n; ++j) {
      const T z = f_[0](gate(x, r, 0, j));
      const T fresh = f_[1](x[2 * n + j] + input_bias_[static_cast<size_t>(2 * n + j)] +
                            candidate[static_cast<size_t>(j)]);
      h[j] = (1 - z) * fresh + z * h[j];
    }
  }

  void lstm(const T* x, const T* r, T* h, T* c) {
    const auto n = static_cast<size_t>(s_.hidden);
    for (size_t i = 0; i < n; ++i) {
      const auto j = static_cast<int64_t>(i);
      const T in = f_[0](gate(x, r, 0, j) + peep_[i] * c[i]);
      const T forget = coupled_ ? 1 - in : f_[0](gate(x, r, 2, j) + peep_[2 * n + i] * c[i]);
      c[i] = forget * c[i] + in * f_[1](gate(x, r, 3, j));
      h[i] = f_[0](gate(x, r, 1, j) + peep_[n + i] * c[i]) * f_[2](c[i]);
    }
  }

  RnnKind kind_;
  const Call& call_;
  const RnnSizes& s_;
  int64_t direction_;
  std::vector<GateFunction> f_;
  bool reverse_ = false, linear_before_reset_ = false, coupled_ = false;
  std::vector<T> recurrent_, input_bias_, recurrent_bias_, peep_;  // peep_: i, o, f
  std::vector<T> h_, c_;                                           // [B, H]
  std::vector<int64_t> lengths_;
};

template <RnnKind kind>
void forward_recurrent(const Call& call) {
  const RnnSizes s = rnn_sizes(kind, call.attrs, call.x(0).shape(), call.x(2).shape());
  auto functions = gate_functions(call.attrs, rnn_functions(kind), s.directions);
  dispatch(Reals{}, call.x(0).dtype(), [&]<class T>() {
    if (call.wants(0)) std::fill_n(call.y().data<T>(), call.y().numel(), T{});
    for (int64_t d = 0; d < s.directions; ++d)
      Layer<T>(kind, call, s, d, functions[static_cast<size_t>(d)]).run();
  });
}

template <RnnKind kind>
void grad(Grad& g) {
  constexpr auto name = kind == RnnKind::rnn   ? "rnn_grad"
                        : kind == RnnKind::gru ? "gru_grad"
                                               : "lstm_grad";
  Vars in;
  for (size_t i = 0; i < 8; ++i) in.push_back(g.x(i));
  for (size_t i = 0; i < 3; ++i) in.push_back(g.dy(i));
  const Vars d = apply(*find_op(name), in, g.attrs, 7);
  for (size_t i = 0; i < 4; ++i) g.dx(i, d[i]);
  for (size_t i = 5; i < 8; ++i) g.dx(i, d[i - 1]);
}

template <RnnKind kind>
void onnx(ImportNode& n) {
  constexpr size_t outputs = kind == RnnKind::lstm ? 3 : 2;
  const OpDef& op = *find_op(kind == RnnKind::rnn ? "rnn" : kind == RnnKind::gru ? "gru" : "lstm");
  const Vars y = apply(op, n.positional_, n.attrs, outputs);
  for (size_t i = 0; i < std::min(n.outputs(), outputs); ++i) n.out(i, y[i]);
}

template <RnnKind kind>
OpDef recurrent(std::string_view name, std::vector<Import> imports) {
  return {.name = name,
          .min_inputs = 3,
          .max_inputs = kind == RnnKind::lstm ? 8 : 6,
          .outputs = kind == RnnKind::lstm ? 3 : 2,
          .infer = infer_recurrent<kind>,
          .forward = widened<forward_recurrent<kind>>,
          .grad = grad<kind>,
          .imports = std::move(imports)};
}

}  // namespace

extern const std::vector<OpDef> recurrent_ops = {
    recurrent<RnnKind::rnn>("rnn", {{"onnx:RNN", onnx<RnnKind::rnn>}}),
    recurrent<RnnKind::gru>("gru", {{"onnx:GRU", onnx<RnnKind::gru>}}),
    recurrent<RnnKind::lstm>("lstm",
                             {{"onnx:LSTM", onnx<RnnKind::lstm>}, {"paddle:rnn", paddle_rnn}})};

}  // namespace hub
