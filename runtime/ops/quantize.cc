// Numbers as small integers: quantize(x, scale, zero) = saturate(round(x / scale) + zero), halves
// to even, in the type of `zero` (uint8 when absent); dequantize(x, scale, zero?) = (x - zero) *
// scale. scale and zero hold one number, or one for each position along `axis` (1).
#include <cmath>
#include <limits>

#include "runtime/ops/rules.h"

namespace hub {
namespace {

using Small = Types<int8_t, uint8_t, int16_t, uint16_t, int32_t>;

/// Refuses scales that do not fit x; the zero point must look like them.
void check_scale(const Infer& in) {
  const Shape& scale = in.in(1).shape;
  const Shape& x = in.in(0).shape;
  check_type(in, 1, Floats{});
  if (in.has(2) && in.in(2).shape.numel() != scale.numel()) {
    fail(Code::refused, "scale is ", in.in(1).str(), ", zero point ", in.in(2).str());
  }
  if (scale.numel() == 1) return;
  const size_t axis = axis_of(in.attrs.i("axis", 1), x.rank());
  if (scale != Shape{x[axis]})
    fail(Code::refused, "scale is ", in.in(1).str(), " along axis ", axis, " of ", x.str());
}

/// Calls f(i, scale, k) for each element: k is the position of its scale.
template <class F>
void each_scaled(const Call& call, F f) {
  const auto scales = call.x(1).to_floats();
  const Shape& shape = call.x(0).shape();
  if (scales.size() == 1) {
    for (int64_t i = 0; i < shape.numel(); ++i) f(i, scales[0], size_t{0});
    return;
  }
  const AxisView view(shape, axis_of(call.attrs.i("axis", 1), shape.rank()));
  for (int64_t i = 0; i < shape.numel(); ++i) {
    const auto k = static_cast<size_t>(i / view.inner % view.length);
    f(i, scales[k], k);
  }
}

std::vector<Spec> infer_quantize(const Infer& in) {
  check_type(in, 0, Floats{} + Types<int32_t>{});
  check_scale(in);
  if (in.has(2)) check_type(in, 2, Small{});
  return {{in.has(2) ? in.in(2).dtype : DType::u8, in.in(0).shape}};
}

void forward_quantize(const Call& call) {
  const auto x = call.x(0).to_floats();
  dispatch(Small{}, call.y().dtype(), [&]<class T>() {
    using Limits = std::numeric_limits<T>;
    const T* zero = call.has(2) ? call.x(2).data<T>() : nullptr;
    T* y = call.y().data<T>();
    each_scaled(call, [&](int64_t i, float scale, size_t k) {
      const double v =
          std::nearbyint(x[i] / scale) + (zero == nullptr ? 0.0 : static_cast<double>(zero[k]));
      y[i] = std::isnan(v) ? T{0}
                           : static_cast<T>(std::clamp<double>(v, Limits::min(), Limits::max()));
    });
  });
}

std::vector<Spec> infer_dequantize(const Infer& in) {
  check_type(in, 0, Small{});
  if (in.has(2)) check_same_type(in, 0, 2);
  check_scale(in);
  return {{in.in(1).dtype, in.in(0).shape}};
}

void forward_dequantize(const Call& call) {
  dispatch(Small{}, call.x(0).dtype(), [&]<class T>() {
    const T* x = call.x(0).data<T>();
    const T* zero = call.has(2) ? call.x(2).data<T>() : nullptr;
    dispatch(Floats{}, call.y().dtype(), [&]<class F>() {
      F* y = call.y().data<F>();
      each_scaled(call, [&](int64_t i, float scale, size_t k) {
        const int64_t steps =
            static_cast<int64_t>(x[i]) - (zero == nullptr ? 0 : static_cast<int64_t>(zero[k]));
        y[i] = static_cast<F>(static_cast<float>(steps) * scale);
      });
    });
  });
}

/// uint8 over the range of x stretched to hold 0: y, scale, zero point.
void onnx_dynamic_quantize(ImportNode& n) {
  const Var x = n.need(0);
  auto number = [&](float v) { return constant(n.program, Tensor::scalar(v)); };
  const Attrs drop{{"keepdims", int64_t{0}}};
  const Var low = apply("min", {apply("reduce_min", {x}, drop), number(0)});
  const Var high = apply("max", {apply("reduce_max", {x}, drop), number(0)});
  const Var scale = apply("div", {apply("sub", {high, low}), number(255)});
  const Var zero = clip(unary("round", apply("div", {unary("neg", low), scale})), 0, 255);
  const Var zero_u8 = apply("cast", {zero}, {{"to", "uint8"}});
  n.out(0, apply("quantize", {x, scale, zero_u8}));
  n.out(1, scale);
  n.out(2, zero_u8);
}

OpDef scaled(std::string_view name, std::vector<Spec> (*infer)(const Infer&),
             void (*forward)(const Call&), std::string_view no_grad, std::vector<Import> imports) {
  return {.name = name,
          .min_inputs = 2,
          .max_inputs = 3,
          .infer = infer,
          .forward = forward,
          .no_grad = no_grad,
          .settings = 0b10,
          .imports = std::move(imports)};
}

}  // namespace

extern const std::vector<OpDef> quantize_ops = {
    scaled("quantize", infer_quantize, forward_quantize, "rounding has no slope",
           {{"onnx:QuantizeLinear", onnx_same<"quantize">},
            {"onnx:DynamicQuantizeLinear", onnx_dynamic_quantize}}),
    scaled("dequantize", infer_dequantize, forward_dequantize, "integers have no gradient",
           {{"onnx:DequantizeLinear", onnx_same<"dequantize">}}),
};

}  // namespace hub
