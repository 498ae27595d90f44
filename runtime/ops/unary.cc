// Elementwise functions of one tensor: y[i] = f(x[i]), shape and (but for predicates) type kept.
#include <cmath>

#include "runtime/ops/rules.h"

namespace hub {
namespace {

template <class T>
std::vector<Spec> infer_same(const Infer& in) {
  check_type(in, 0, T{});
  return {in.in(0)};
}

template <class T>
std::vector<Spec> infer_predicate(const Infer& in) {
  check_type(in, 0, T{});
  return {{DType::boolean, in.in(0).shape}};
}

/// f computes in wide_t<T>; R is the element type of the result, void for that of x.
template <class Kinds, class R, class F>
void map(const Call& call, F f) {
  const Tensor& x = call.x(0);
  dispatch(Kinds{}, x.dtype(), [&]<class T>() {
    using Out = std::conditional_t<std::is_void_v<R>, T, R>;
    const T* from = x.data<T>();
    Out* to = call.y().data<Out>();
    parallel(x.numel(), 1 << 14, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        to[i] = static_cast<Out>(f(static_cast<wide_t<T>>(from[i])));
    });
  });
}

template <class Kinds, auto f>
void forward_map(const Call& call) {
  map<Kinds, void>(call, f);
}
template <class Kinds, auto f>
void forward_predicate(const Call& call) {
  map<Kinds, bool>(call, f);
}

/// Integers wrap: the negative of the lowest is itself.
constexpr auto negative = [](auto v) {
  using V = decltype(v);
  if constexpr (std::is_integral_v<V>) {
    return static_cast<V>(0 - static_cast<std::make_unsigned_t<V>>(v));
  } else {
    return -v;
  }
};
constexpr auto absolute = [](auto v) {
  if constexpr (std::is_integral_v<decltype(v)>) {
    return v > 0 ? v : negative(v);
  } else {
    return std::abs(v);
  }
};
constexpr auto sign = [](auto v) { return static_cast<decltype(v)>((v > 0) - (v < 0)); };
constexpr auto exponential = [](auto v) { return std::exp(v); };
constexpr auto logarithm = [](auto v) { return std::log(v); };
constexpr auto square_root = [](auto v) { return std::sqrt(v); };
constexpr auto reciprocal = [](auto v) { return 1 / v; };
constexpr auto error_function = [](auto v) { return std::erf(v); };
constexpr auto floor = [](auto v) { return std::floor(v); };
constexpr auto ceiling = [](auto v) { return std::ceil(v); };
constexpr auto round_even = [](auto v) { return std::nearbyint(v); };
constexpr auto sine = [](auto v) { return std::sin(v); };
constexpr auto cosine = [](auto v) { return std::cos(v); };
constexpr auto tangent = [](auto v) { return std::tan(v); };
constexpr auto arc_sine = [](auto v) { return std::asin(v); };
constexpr auto arc_cosine = [](auto v) { return std::acos(v); };
constexpr auto arc_tangent = [](auto v) { return std::atan(v); };
constexpr auto sine_h = [](auto v) { return std::sinh(v); };
constexpr auto cosine_h = [](auto v) { return std::cosh(v); };
constexpr auto tangent_h = [](auto v) { return std::tanh(v); };
constexpr auto arc_sine_h = [](auto v) { return std::asinh(v); };
constexpr auto arc_cosine_h = [](auto v) { return std::acosh(v); };
constexpr auto arc_tangent_h = [](auto v) { return std::atanh(v); };
constexpr auto relu = [](auto v) { return v < 0 ? decltype(v){0} : v; };  // NaN stays
constexpr auto sigmoid = [](auto v) { return 1 / (1 + std::exp(-v)); };
constexpr auto softplus = [](auto v) {
  return v > 0 ? v + std::log1p(std::exp(-v)) : std::log1p(std::exp(v));
};
constexpr auto softsign = [](auto v) { return v / (1 + std::abs(v)); };
constexpr auto hard_swish = [](auto v) {
  using V = decltype(v);
  return v * std::clamp(v + 3, V{0}, V{6}) / 6;
};
constexpr auto gelu_erf = [](auto v) {
  using V = decltype(v);
  return V{0.5} * v * (1 + std::erf(v * V{0.70710678118654752}));
};
constexpr auto gelu_tanh = [](auto v) {
  using V = decltype(v);
  return V{0.5} * v * (1 + std::tanh(V{0.79788456080286536} * (v + V{0.044715} * v * v * v)));
};
constexpr auto logical_not = [](auto v) { return !v; };
constexpr auto is_nan = [](auto v) { return std::isnan(v); };

std::vector<Spec> infer_gelu(const Infer& in) {
  const auto kind = in.attrs.s("approximate", "none");
  if (kind != "none" && kind != "tanh")
    fail(Code::unsupported, "approximate is '", kind, "': 'none' or 'tanh' are known");
  return infer_same<Floats>(in);
}
void forward_gelu(const Call& call) {
  if (call.attrs.s("approximate", "none") == "tanh") return map<Floats, void>(call, gelu_tanh);
  map<Floats, void>(call, gelu_erf);
}

// isinf: attributes detect_positive and detect_negative, both 1 by default.
void forward_isinf(const Call& call) {
  const bool positive = call.attrs.i("detect_positive", 1) != 0;
  const bool negative_too = call.attrs.i("detect_negative", 1) != 0;
  map<Floats, bool>(call,
                    [=](auto v) { return std::isinf(v) && (v > 0 ? positive : negative_too); });
}

void paddle_gelu(ImportNode& n) {
  const bool approximate = n.attrs.i("approximate", 0) != 0;
  n.out("Out", apply("gelu", {n.need("X")}, {{"approximate", approximate ? "tanh" : "none"}}));
}

void paddle_hard_swish(ImportNode& n) {
  const Var x = n.need("X");
  const double threshold = n.attrs.f("threshold", 6);
  const double scale = n.attrs.f("scale", 6);
  const double offset = n.attrs.f("offset", 3);
  if (threshold == 6 && scale == 6 && offset == 3) return n.out("Out", unary("hard_swish", x));
  const Var gate = clip(add(x, scalar_like(n, x, offset)), 0, threshold);
  n.out("Out", mul(mul(x, gate), scalar_like(n, x, 1 / scale)));
}

/// Paddle rounds halves away from zero.
void paddle_round(ImportNode& n) {
  const Var x = n.need("X");
  n.out("Out", mul(unary("sign", x), unary("floor", add(unary("abs", x), scalar_like(n, x, 0.5)))));
}
void paddle_rsqrt(ImportNode& n) { n.out("Out", unary("reciprocal", unary("sqrt", n.need("X")))); }
void paddle_softplus(ImportNode& n) {
  if (n.attrs.f("beta", 1) != 1) n.refuse("beta is ", n.attrs.f("beta"), ", only 1 is supported");
  paddle_unary<"softplus">(n);
}

template <class Kinds, auto f>
OpDef same(std::string_view name, std::vector<Import> imports) {
  return {.name = name,
          .infer = infer_same<Kinds>,
          .forward = forward_map<Kinds, f>,
          .imports = std::move(imports)};
}
template <class Kinds, auto f>
OpDef predicate(std::string_view name, std::vector<Import> imports) {
  return {.name = name,
          .infer = infer_predicate<Kinds>,
          .forward = forward_predicate<Kinds, f>,
          .imports = std::move(imports)};
}

using Signed = decltype(Floats{} + Types<int8_t, int16_t, int32_t, int64_t>{});

}  // namespace

const std::vector<OpDef> unary_ops = {
    same<Numbers, absolute>("abs",
                            {{"onnx:Abs", onnx_same<"abs">}, {"paddle:abs", paddle_unary<"abs">}}),
    same<Signed, negative>("neg", {{"onnx:Neg", onnx_same<"neg">}}),
    same<Numbers, sign>("sign",
                        {{"onnx:Sign", onnx_same<"sign">}, {"paddle:sign", paddle_unary<"sign">}}),
    same<Signed, relu>("relu",
                       {{"onnx:Relu", onnx_same<"relu">}, {"paddle:relu", paddle_unary<"relu">}}),
    same<Floats, exponential>(
        "exp", {{"onnx:Exp", onnx_same<"exp">}, {"paddle:exp", paddle_unary<"exp">}}),
    same<Floats, logarithm>("log",
                            {{"onnx:Log", onnx_same<"log">}, {"paddle:log", paddle_unary<"log">}}),
    same<Floats, square_root>(
        "sqrt", {{"onnx:Sqrt", onnx_same<"sqrt">}, {"paddle:sqrt", paddle_unary<"sqrt">}}),
    same<Floats, reciprocal>("reciprocal", {{"onnx:Reciprocal", onnx_same<"reciprocal">},
                                            {"paddle:reciprocal", paddle_unary<"reciprocal">},
                                            {"paddle:rsqrt", paddle_rsqrt}}),
    same<Floats, error_function>(
        "erf", {{"onnx:Erf", onnx_same<"erf">}, {"paddle:erf", paddle_unary<"erf">}}),
    same<Floats, floor>(
        "floor", {{"onnx:Floor", onnx_same<"floor">}, {"paddle:floor", paddle_unary<"floor">}}),
    same<Floats, ceiling>(
        "ceil", {{"onnx:Ceil", onnx_same<"ceil">}, {"paddle:ceil", paddle_unary<"ceil">}}),
    same<Floats, round_even>("round",
                             {{"onnx:Round", onnx_same<"round">}, {"paddle:round", paddle_round}}),
    same<Floats, sine>("sin",
                       {{"onnx:Sin", onnx_same<"sin">}, {"paddle:sin", paddle_unary<"sin">}}),
    same<Floats, cosine>("cos",
                         {{"onnx:Cos", onnx_same<"cos">}, {"paddle:cos", paddle_unary<"cos">}}),
    same<Floats, tangent>("tan",
                          {{"onnx:Tan", onnx_same<"tan">}, {"paddle:tan", paddle_unary<"tan">}}),
    same<Floats, arc_sine>(
        "asin", {{"onnx:Asin", onnx_same<"asin">}, {"paddle:asin", paddle_unary<"asin">}}),
    same<Floats, arc_cosine>(
        "acos", {{"onnx:Acos", onnx_same<"acos">}, {"paddle:acos", paddle_unary<"acos">}}),
    same<Floats, arc_tangent>(
        "atan", {{"onnx:Atan", onnx_same<"atan">}, {"paddle:atan", paddle_unary<"atan">}}),
    same<Floats, sine_h>("sinh",
                         {{"onnx:Sinh", onnx_same<"sinh">}, {"paddle:sinh", paddle_unary<"sinh">}}),
    same<Floats, cosine_h>(
        "cosh", {{"onnx:Cosh", onnx_same<"cosh">}, {"paddle:cosh", paddle_unary<"cosh">}}),
    same<Floats, tangent_h>(
        "tanh", {{"onnx:Tanh", onnx_same<"tanh">}, {"paddle:tanh", paddle_unary<"tanh">}}),
    same<Floats, arc_sine_h>("asinh", {{"onnx:Asinh", onnx_same<"asinh">}}),
    same<Floats, arc_cosine_h>("acosh", {{"onnx:Acosh", onnx_same<"acosh">}}),
    same<Floats, arc_tangent_h>("atanh", {{"onnx:Atanh", onnx_same<"atanh">}}),
    same<Floats, sigmoid>("sigmoid", {{"onnx:Sigmoid", onnx_same<"sigmoid">},
                                      {"paddle:sigmoid", paddle_unary<"sigmoid">}}),
    same<Floats, softplus>("softplus", {{"onnx:Softplus", onnx_same<"softplus">},
                                        {"paddle:softplus", paddle_softplus}}),
    same<Floats, softsign>("softsign", {{"onnx:Softsign", onnx_same<"softsign">},
                                        {"paddle:softsign", paddle_unary<"softsign">}}),
    same<Floats, hard_swish>("hard_swish", {{"onnx:HardSwish", onnx_same<"hard_swish">},
                                            {"paddle:hard_swish", paddle_hard_swish}}),
    predicate<Types<bool>, logical_not>(
        "not", {{"onnx:Not", onnx_same<"not">}, {"paddle:logical_not", paddle_unary<"not">}}),
    predicate<Floats, is_nan>(
        "isnan", {{"onnx:IsNaN", onnx_same<"isnan">}, {"paddle:isnan_v2", paddle_unary<"isnan">}}),
    {.name = "isinf",
     .infer = infer_predicate<Floats>,
     .forward = forward_isinf,
     .imports = {{"onnx:IsInf", onnx_same<"isinf">}, {"paddle:isinf_v2", paddle_unary<"isinf">}}},
    {.name = "gelu",
     .infer = infer_gelu,
     .forward = forward_gelu,
     .imports = {{"onnx:Gelu", onnx_same<"gelu">}, {"paddle:gelu", paddle_gelu}}},
};

}  // namespace hub
