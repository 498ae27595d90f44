#include "runtime/ops/signal_import.h"

#include <numbers>

#include "runtime/ops/grad.h"
#include "runtime/ops/rules.h"

namespace hub {
namespace {

/// One integer without dimensions.
Var whole(Var v) { return reshape(cast_to(v, DType::i64), {}); }
Var whole(ImportNode& n, int64_t v) { return constant(n.program, Tensor::ints({v}).reshaped({})); }
/// 0, 1, … below `limit`.
Var counted(ImportNode& n, Var limit) { return apply("range", {whole(n, 0), limit, whole(n, 1)}); }

}  // namespace

/// The axis is an attribute, 1 by default, before opset 20 and an input, -2, since.
void onnx_dft(ImportNode& n) {
  n.out(0, apply("dft", {n.need(0), n.in(1), n.in(2)},
                 {{"axis", n.attrs.i("axis", n.version < 20 ? 1 : -2)},
                  {"inverse", n.attrs.i("inverse", 0)},
                  {"onesided", n.attrs.i("onesided", 0)}}));
}

/// Frames read by index, times the window, each transformed.
void onnx_stft(ImportNode& n) {
  const Var x = n.need(0);
  const Var step = whole(n.need(1));
  const Var window = n.in(2);
  const Var samples = reshape(length(x, 1), {});
  const Var frame = n.in(3) ? whole(n.in(3)) : window ? reshape(length(window, 0), {}) : samples;
  const Var frames = add(div(sub(samples, frame), step), whole(n, 1));
  const Var starts = mul(reshape(counted(n, frames), {-1, 1}), step);
  Var parts = apply("gather", {x, add(starts, counted(n, frame))}, {{"axis", int64_t{1}}});
  if (window) parts = mul(parts, reshape(window, {-1, 1}));
  n.out(0, apply("dft", {parts}, {{"axis", int64_t{2}}, {"onesided", n.attrs.i("onesided", 1)}}));
}

/// a - b cos(2 pi i / m) + c cos(4 pi i / m), m being the size if it is periodic, one less if not.
void onnx_window_function(ImportNode& n) {
  auto number = [&](double v) { return constant(n.program, scalar_of(DType::f64, v)); };
  const DType to = n.attrs.has("output_datatype") ? onnx_type(n, "output_datatype") : DType::f32;
  const Var size = reshape(cast_to(n.need(0), DType::f64), {});
  Var m = size;
  if (n.attrs.i("periodic", 1) == 0) m = sub(m, number(1));
  const Var turn = div(apply("range", {number(0), size, number(1)}), apply("max", {m, number(1)}));
  auto wave = [&](double height, double turns) {
    return mul(unary("cos", mul(turn, number(2 * std::numbers::pi * turns))), number(height));
  };
  const bool hamming = n.type == "HammingWindow";
  Var y = n.type == "BlackmanWindow"
              ? add(sub(number(0.42), wave(0.5, 1)), wave(0.08, 2))
              : sub(number(hamming ? 25.0 / 46 : 0.5), wave(hamming ? 21.0 / 46 : 0.5, 1));
  n.out(0, cast_to(y, to));
}

void onnx_mel_weight_matrix(ImportNode& n) {
  const DType to = n.attrs.has("output_datatype") ? onnx_type(n, "output_datatype") : DType::f32;
  Vars in;
  for (size_t i = 0; i < 5; ++i) in.push_back(n.need(i));
  n.out(0, apply("mel_weight_matrix", in, {{"to", std::string(name_of(to))}}));
}

}  // namespace hub
