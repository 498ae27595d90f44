// Convolution of small integers: quantized_conv(x, x_scale, x_zero, w, w_scale, w_zero, y_scale?,
// y_zero?, bias?), see quantized.h, and conv_integer(x, w, x_zero?, w_zero?), whose int32 sums are
// the result.
#include "runtime/ops/conv_walk.h"
#include "runtime/ops/nn.h"
#include "runtime/ops/quantized.h"
#include "runtime/ops/rules.h"
#include "runtime/ops/window.h"
#include "runtime/ops/window_import.h"

namespace hub {
namespace {

/// The shape that a convolution of floats of these shapes gives.
Shape conv_shape(const Infer& infer, size_t x, size_t w) {
  check_type(infer, x, Bytes{});
  check_type(infer, w, Bytes{});
  const Spec a{DType::f32, infer.in(x).shape};
  const Spec b{DType::f32, infer.in(w).shape};
  const std::array<const Spec*, 2> in{&a, &b};
  Attrs attrs = infer.attrs;
  attrs.erase("post");
  attrs.erase("post_args");
  return find_op("conv")->infer(Infer(attrs, in, {}))[0].shape;
}

/// The sums of one convolution, starting with the bias.
void add_up(const Attrs& attrs, const Tensor& x, const Tensor& w, const Tensor* bias, Tensor& y) {
  const Shape& shape = y.shape();
  const int64_t size = shape.numel(2, shape.rank());
  for (int64_t plane = 0; plane < shape[0] * shape[1]; ++plane) {
    std::fill_n(y.data<int32_t>() + plane * size, size,
                bias == nullptr ? 0 : bias->data<int32_t>()[plane % shape[1]]);
  }
  const ConvWalk walk(conv_window(attrs, spatial(x.shape()), spatial(w.shape())), shape, x.shape(),
                      w.shape());
  add_to_small(walk, x.data<int32_t>(), w.data<int32_t>(), y.data<int32_t>());
}

std::vector<Spec> infer_conv(const Infer& infer) {
  using namespace quantized;
  return infer_quantized(infer, conv_shape(infer, x, w), infer.in(w).shape[0]);
}

const Tensor* optional(const Call& call, size_t i) { return call.has(i) ? &call.x(i) : nullptr; }

void forward_conv(const Call& call) {
  using namespace quantized;
  Tensor sums(DType::i32, call.y().shape());
  add_up(call.attrs, without_zero(call.x(x), optional(call, x_zero), 0),
         without_zero(call.x(w), optional(call, w_zero), 0), optional(call, bias), sums);
  finish_quantized(call, sums, 1);
}

std::vector<Spec> infer_integer(const Infer& infer) {
  const Shape y = conv_shape(infer, 0, 1);
  check_zero(infer, 2, 0, 1);
  check_zero(infer, 3, 1, infer.in(1).shape[0]);
  return {{DType::i32, y}};
}

void forward_integer(const Call& call) {
  add_up(call.attrs, without_zero(call.x(0), optional(call, 2), 0),
         without_zero(call.x(1), optional(call, 3), 0), nullptr, call.y());
}

void onnx_qlinear(ImportNode& n) {
  Vars in;
  for (size_t i = 0; i < 8; ++i) in.push_back(n.need(i));
  in.push_back(n.in(8));
  n.out(0, apply("quantized_conv", in, onnx_window(n)));
}

void onnx_integer(ImportNode& n) {
  n.out(0, apply("conv_integer", {n.need(0), n.need(1), n.in(2), n.in(3)}, onnx_window(n)));
}

}  // namespace

extern const std::vector<OpDef> quantized_conv_ops = {
    {.name = "quantized_conv",
     .min_inputs = 5,
     .max_inputs = 9,
     .infer = infer_conv,
     .forward = forward_conv,
     .no_grad = "rounding has no slope",
     .settings = 0b1010010,
     .imports = {{"onnx:QLinearConv", onnx_qlinear}}},
    {.name = "conv_integer",
     .min_inputs = 2,
     .max_inputs = 4,
     .infer = infer_integer,
     .forward = forward_integer,
     .imports = {{"onnx:ConvInteger", onnx_integer}}},
};

}  // namespace hub
