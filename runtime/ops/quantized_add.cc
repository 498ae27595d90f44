// The sum of numbers that small integers stand for: quantized_add(a, a_scale, a_zero, b, b_scale,
// b_zero, y_scale, y_zero), all of one type, scales and zero points of one number each; what was
// fused behind it as in post.h. a and b broadcast.
#include "runtime/ops/nn.h"
#include "runtime/ops/post.h"
#include "runtime/ops/quantized.h"
#include "runtime/ops/quantized_import.h"

namespace hub {
namespace {

std::vector<Spec> infer_add(const Infer& infer) {
  check_type(infer, 0, Bytes{});
  for (size_t i : {2, 3, 5, 7}) check_same_type(infer, 0, i);
  for (size_t i : {1, 4, 6}) check_type(infer, i, Types<float>{});
  for (size_t i : {1, 2, 4, 5, 6, 7}) {
    if (infer.in(i).shape.numel() != 1)
      fail(Code::refused, "input ", i, " is ", infer.in(i).str(), ": one number is wanted");
  }
  const Spec y{infer.in(0).dtype, broadcast(infer.in(0).shape, infer.in(3).shape)};
  check_post(infer.attrs, {DType::f32, y.shape}, false);
  return {y};
}

void forward_add(const Call& call) {
  const auto run = [](std::string_view op, const Tensor& a, const Tensor& b, const Tensor* c) {
    const std::array<const Tensor*, 3> in{&a, &b, c};
    return run_reference(*find_op(op), {}, std::span(in.data(), c == nullptr ? 2 : 3))[0];
  };
  Tensor sum = run("add", run("dequantize", call.x(0), call.x(1), &call.x(2)),
                   run("dequantize", call.x(3), call.x(4), &call.x(5)), nullptr);
  apply_posts(call.attrs, sum, nullptr);
  const Tensor y = run("quantize", sum, call.x(6), &call.x(7));
  std::copy_n(y.data<std::byte>(), y.bytes(), call.y().data<std::byte>());
}

}  // namespace

extern const OpDef quantized_add_op = {
    .name = "quantized_add",
    .min_inputs = 8,
    .max_inputs = 8,
    .infer = infer_add,
    .forward = forward_add,
    .settings = 0b1010010,
    .imports = {{"com.microsoft:QLinearAdd", microsoft_qlinear_binary},
                {"com.microsoft:QLinearMul", microsoft_qlinear_binary},
                {"com.microsoft:QLinearSigmoid", microsoft_qlinear_unary},
                {"com.microsoft:QLinearLeakyRelu", microsoft_qlinear_unary},
                {"com.microsoft:QLinearAveragePool", microsoft_qlinear_pool},
                {"com.microsoft:QLinearGlobalAveragePool", microsoft_qlinear_pool},
                {"com.microsoft:QLinearConcat", microsoft_qlinear_concat},
                {"com.microsoft:QGemm", microsoft_qgemm}}};

}  // namespace hub
