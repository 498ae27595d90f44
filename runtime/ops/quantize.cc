// Numbers as small integers or 8-bit floats: quantize(x, scale, zero) to, saturate (1) =
// limited(round(x / scale) + zero), halves to even, in the type of `zero`, or `to`, or uint8;
// dequantize(x, scale, zero?) = (x - zero) * scale. scale and zero hold one number, or one for each
// position along `axis` (1), or, with block_size, one for so many of them and each position of the
// other axes.
#include <cmath>

#include "runtime/ops/rules.h"
#include "runtime/ops/small_types.h"

namespace hub {
namespace {

bool is_counted(DType dtype) {
  return is_small(dtype) ||
         one_of_types(Types<int8_t, uint8_t, int16_t, uint16_t, int32_t>{}, dtype);
}

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
  const int64_t block = in.attrs.i("block_size", 0);
  if (block < 0) fail(Code::refused, "'block_size' is ", block);
  Shape wanted{x[axis]};
  if (block > 0) {
    wanted = x;
    wanted[axis] = x[axis] / block + (x[axis] % block != 0 ? 1 : 0);
  }
  if (scale != wanted)
    fail(Code::refused, "scale is ", in.in(1).str(), " along axis ", axis, " of ", x.str());
}

/// Calls f(i, scale, k) for each element: k is the position of its scale.
template <class F>
void each_scaled(const Call& call, F f) {
  const auto scales = numbers_of(call.x(1));
  const Shape& shape = call.x(0).shape();
  if (scales.size() == 1) {
    for (int64_t i = 0; i < shape.numel(); ++i) f(i, scales[0], size_t{0});
    return;
  }
  const AxisView view(shape, axis_of(call.attrs.i("axis", 1), shape.rank()));
  const int64_t block = call.attrs.i("block_size", 0);
  const int64_t blocks = block == 0 ? 0 : (view.length + block - 1) / block;
  for (int64_t i = 0; i < shape.numel(); ++i) {
    const int64_t along = i / view.inner % view.length;
    const int64_t k =
        block == 0
            ? along
            : (i / view.inner / view.length * blocks + along / block) * view.inner + i % view.inner;
    f(i, scales[static_cast<size_t>(k)], static_cast<size_t>(k));
  }
}

std::vector<Spec> infer_quantize(const Infer& in) {
  check_type(in, 0, Floats{} + Types<int32_t>{});
  check_scale(in);
  DType to = in.attrs.has("to") ? dtype_named(in.attrs.s("to")) : DType::u8;
  if (in.has(2)) to = in.in(2).dtype;
  if (!is_counted(to)) fail(Code::unsupported, "numbers as '", name_of(to), "'");
  return {{to, in.in(0).shape}};
}

void forward_quantize(const Call& call) {
  const auto x = numbers_of(call.x(0));
  const auto zero = call.has(2) ? numbers_of(call.x(2)) : std::vector<double>{};
  const bool floats = is_float8(call.y().dtype());
  std::vector<double> y(x.size());
  each_scaled(call, [&](int64_t i, double scale, size_t k) {
    const auto v = static_cast<float>(x[static_cast<size_t>(i)]) / static_cast<float>(scale);
    y[static_cast<size_t>(i)] =
        floats ? v : static_cast<double>(std::nearbyint(v)) + (zero.empty() ? 0.0 : zero[k]);
  });
  set_numbers(call.y(), y, call.attrs.i("saturate", 1) != 0);
}

std::vector<Spec> infer_dequantize(const Infer& in) {
  if (!is_counted(in.in(0).dtype)) fail(Code::unsupported, "input 0 is ", in.in(0).str());
  if (in.has(2)) check_same_type(in, 0, 2);
  check_scale(in);
  return {{in.in(1).dtype, in.in(0).shape}};
}

void forward_dequantize(const Call& call) {
  const auto x = numbers_of(call.x(0));
  const auto zero = call.has(2) ? numbers_of(call.x(2)) : std::vector<double>{};
  std::vector<double> y(x.size());
  each_scaled(call, [&](int64_t i, double scale, size_t k) {
    const double steps = x[static_cast<size_t>(i)] - (zero.empty() ? 0.0 : zero[k]);
    y[static_cast<size_t>(i)] = static_cast<float>(steps) * static_cast<float>(scale);
  });
  set_numbers(call.y(), y);
}

void onnx_quantize(ImportNode& n) {
  Attrs attrs = n.attrs;
  attrs.erase("output_dtype");
  if (n.attrs.i("output_dtype", 0) != 0)
    attrs.set("to", std::string(name_of(onnx_type(n, "output_dtype"))));
  n.out(0, apply("quantize", n.positional_, attrs));
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

/// Scales of Paddle are the largest values, not steps; its whole numbers are floats again.
struct Fake {
  Var x, scale;
  double most;
  explicit Fake(ImportNode& n) : x(n.need("X")), scale(n.need("Scale")) {
    const int64_t bits = n.attrs.i("bit_length", 8);
    if (bits < 2 || bits > 16) n.refuse("'bit_length' is ", bits);
    if (n.attrs.i("only_observer", 0) != 0) n.refuse("'only_observer' is on");
    if (n.attrs.i("is_test", 1) == 0) n.refuse("it is in training");
    most = static_cast<double>((int64_t{1} << (bits - 1)) - 1);
    const int64_t axis = n.attrs.i("quant_axis", 0);
    if (axis < 0 || shape_of(n, scale).numel() == 1) {
      scale = reshape(scale, {1});
      return;
    }
    const auto rank = static_cast<int64_t>(shape_of(n, x).rank());
    if (axis >= rank) n.refuse("'quant_axis' is ", axis);
    std::vector<int64_t> shape(static_cast<size_t>(rank - axis), 1);
    shape[0] = -1;
    scale = reshape(scale, shape);
  }
};

/// Halves to even for round_type 0, away from zero for 1.
void paddle_quantize(ImportNode& n) {
  const Fake f(n);
  auto number = [&](double v) { return scalar_like(n, f.x, v); };
  const Var steps = mul(f.x, apply("div", {number(f.most), f.scale}));
  if (n.attrs.i("round_type", 0) == 0)
    return n.out("Y", clip(unary("round", steps), -f.most - 1, f.most));
  const Var limited = clip(steps, -f.most, f.most);
  const Var up = unary("floor", add(unary("abs", limited), number(0.5)));
  n.out("Y", mul(unary("sign", limited), up));
}

void paddle_dequantize(ImportNode& n) {
  const Fake f(n);
  const Var x = apply("cast", {f.x, f.scale});
  n.out("Y", apply("div", {mul(x, f.scale), scalar_like(n, f.scale, f.most)}));
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
           {{"onnx:QuantizeLinear", onnx_quantize},
            {"onnx:DynamicQuantizeLinear", onnx_dynamic_quantize},
            {"paddle:quantize_linear", paddle_quantize}}),
    scaled("dequantize", infer_dequantize, forward_dequantize, "integers have no gradient",
           {{"onnx:DequantizeLinear", onnx_same<"dequantize">},
            {"paddle:dequantize_linear", paddle_dequantize}}),
};

}  // namespace hub
