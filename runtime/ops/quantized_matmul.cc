// Matrix products of small integers: quantized_matmul(a, a_scale, a_zero, b, b_scale, b_zero,
// y_scale?, y_zero?, bias?), see quantized.h, trans_a and trans_b as in matmul; and
// matmul_integer(a, b, a_zero?, b_zero?), whose int32 sums are the result. Channels are columns.
#include "runtime/ops/quantized.h"
#include "runtime/ops/rules.h"

namespace hub {
namespace {

/// The shape of the product.
Shape product_shape(const Infer& infer, size_t a, size_t b) {
  check_type(infer, a, Bytes{});
  check_type(infer, b, Bytes{});
  const Spec left{DType::i32, infer.in(a).shape};
  const Spec right{DType::i32, infer.in(b).shape};
  const std::array<const Spec*, 2> in{&left, &right};
  Attrs attrs = infer.attrs;
  attrs.erase("post");
  attrs.erase("post_args");
  return find_op("matmul")->infer(Infer(attrs, in, {}))[0].shape;
}

/// Where the columns of b lie among its dimensions.
size_t column_axis(const Attrs& attrs, const Shape& b) {
  if (b.rank() < 2) return 0;
  return b.rank() - (attrs.i("trans_b", 0) != 0 ? 2 : 1);
}
int64_t columns(const Infer& infer, size_t b) {
  const Shape& shape = infer.in(b).shape;
  return shape.rank() < 2 ? 1 : shape[column_axis(infer.attrs, shape)];
}

const Tensor* optional(const Call& call, size_t i) { return call.has(i) ? &call.x(i) : nullptr; }

Tensor product(const Attrs& attrs, const Tensor& a, const Tensor& b, const Tensor* bias) {
  const std::array<const Tensor*, 3> in{&a, &b, bias};
  Attrs plain{{"trans_a", attrs.i("trans_a", 0)}, {"trans_b", attrs.i("trans_b", 0)}};
  return run_reference(*find_op("matmul"), plain, in)[0];
}

std::vector<Spec> infer_matmul(const Infer& infer) {
  using namespace quantized;
  return infer_quantized(infer, product_shape(infer, x, w), columns(infer, w));
}

void forward_matmul(const Call& call) {
  using namespace quantized;
  const Tensor& b = call.x(w);
  const Tensor sums =
      product(call.attrs, without_zero(call.x(x), optional(call, x_zero), 0),
              without_zero(b, optional(call, w_zero), column_axis(call.attrs, b.shape())),
              optional(call, bias));
  finish_quantized(call, sums, sums.shape().rank() == 0 ? 0 : sums.shape().rank() - 1);
}

/// The rows of a are the second last of its dimensions.
size_t row_axis(const Shape& a) { return a.rank() < 2 ? 0 : a.rank() - 2; }

std::vector<Spec> infer_integer(const Infer& infer) {
  const Shape y = product_shape(infer, 0, 1);
  const Shape& a = infer.in(0).shape;
  check_zero(infer, 2, 0, a.rank() < 2 ? 1 : a[row_axis(a)]);
  check_zero(infer, 3, 1, columns(infer, 1));
  return {{DType::i32, y}};
}

void forward_integer(const Call& call) {
  const Tensor& a = call.x(0);
  const Tensor& b = call.x(1);
  const Tensor y =
      product(call.attrs, without_zero(a, optional(call, 2), row_axis(a.shape())),
              without_zero(b, optional(call, 3), column_axis(call.attrs, b.shape())), nullptr);
  std::copy_n(y.data<int32_t>(), y.numel(), call.y().data<int32_t>());
}

void onnx_qlinear(ImportNode& n) {
  Vars in;
  for (size_t i = 0; i < 8; ++i) in.push_back(n.need(i));
  n.out(0, apply("quantized_matmul", in, Attrs{}));
}

void onnx_integer(ImportNode& n) {
  n.out(0, apply("matmul_integer", {n.need(0), n.need(1), n.in(2), n.in(3)}));
}

}  // namespace

extern const std::vector<OpDef> quantized_matmul_ops = {
    {.name = "quantized_matmul",
     .min_inputs = 5,
     .max_inputs = 9,
     .infer = infer_matmul,
     .forward = forward_matmul,
     .no_grad = "rounding has no slope",
     .settings = 0b1010010,
     .imports = {{"onnx:QLinearMatMul", onnx_qlinear}}},
    {.name = "matmul_integer",
     .min_inputs = 2,
     .max_inputs = 4,
     .infer = infer_integer,
     .forward = forward_integer,
     .imports = {{"onnx:MatMulInteger", onnx_integer}}},
};

}  // namespace hub
