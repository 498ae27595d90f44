// Elementwise functions of one tensor: y[i] = f(x[i]), shape and (but for predicates) type kept.
#include <cmath>

#include "runtime/ops/grad.h"
#include "runtime/ops/rules.h"
#include "runtime/ops/slope.h"

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
constexpr auto logarithm_1p = [](auto v) { return std::log1p(v); };
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
constexpr auto bit_not = [](auto v) {
  using V = decltype(v);
  if constexpr (std::is_same_v<V, bool>) {
    return !v;
  } else {
    return static_cast<V>(~v);
  }
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

// ---- gradients ----

Var square(Var x) { return mul(x, x); }
Var square_root_of(Var x) { return unary("sqrt", x); }
Var one_minus_square(Grad& g) { return sub(g.number(1, g.x(0)), square(g.x(0))); }
Var one_plus_square(Grad& g, Var v) { return add(g.number(1, v), square(v)); }

void grad_abs(Grad& g) { g.dx(0, mul(g.dy(), unary("sign", g.x(0)))); }
void grad_neg(Grad& g) { g.dx(0, neg(g.dy())); }
void grad_exp(Grad& g) { g.dx(0, mul(g.dy(), g.y())); }
void grad_log(Grad& g) { g.dx(0, div(g.dy(), g.x(0))); }
void grad_log1p(Grad& g) { g.dx(0, div(g.dy(), add(g.x(0), g.number(1, g.x(0))))); }
void grad_sqrt(Grad& g) { g.dx(0, div(mul(g.dy(), g.number(0.5, g.dy())), g.y())); }
void grad_reciprocal(Grad& g) { g.dx(0, neg(mul(g.dy(), square(g.y())))); }
void grad_erf(Grad& g) {
  const Var bell = unary("exp", neg(square(g.x(0))));
  g.dx(0, mul(g.dy(), mul(bell, g.number(1.1283791670955126, g.dy()))));
}
void grad_sin(Grad& g) { g.dx(0, mul(g.dy(), unary("cos", g.x(0)))); }
void grad_cos(Grad& g) { g.dx(0, neg(mul(g.dy(), unary("sin", g.x(0))))); }
void grad_tan(Grad& g) { g.dx(0, mul(g.dy(), one_plus_square(g, g.y()))); }
void grad_asin(Grad& g) { g.dx(0, div(g.dy(), square_root_of(one_minus_square(g)))); }
void grad_acos(Grad& g) { g.dx(0, neg(div(g.dy(), square_root_of(one_minus_square(g))))); }
void grad_atan(Grad& g) { g.dx(0, div(g.dy(), one_plus_square(g, g.x(0)))); }
void grad_sinh(Grad& g) { g.dx(0, mul(g.dy(), unary("cosh", g.x(0)))); }
void grad_cosh(Grad& g) { g.dx(0, mul(g.dy(), unary("sinh", g.x(0)))); }
void grad_asinh(Grad& g) { g.dx(0, div(g.dy(), square_root_of(one_plus_square(g, g.x(0))))); }
void grad_acosh(Grad& g) { g.dx(0, div(g.dy(), square_root_of(neg(one_minus_square(g))))); }
void grad_atanh(Grad& g) { g.dx(0, div(g.dy(), one_minus_square(g))); }
void grad_softplus(Grad& g) { g.dx(0, mul(g.dy(), unary("sigmoid", g.x(0)))); }
void grad_softsign(Grad& g) {
  g.dx(0, div(g.dy(), square(add(g.number(1, g.dy()), unary("abs", g.x(0))))));
}

/// By the operator that gives the slope from the output, or from the input.
template <Literal op>
void grad_by_output(Grad& g) {
  g.dx(0, apply(op.view(), {g.y(), g.dy()}));
}
template <Literal op>
void grad_by_input(Grad& g) {
  g.dx(0, apply(op.view(), {g.x(0), g.dy()}, g.attrs));
}

// relu_grad(y, dy), sigmoid_grad(y, dy), tanh_grad(y, dy), hard_swish_grad(x, dy), gelu_grad(x, dy)
// with gelu's `approximate`.
void forward_relu_grad(const Call& call) {
  map_slope(call, [](auto y, auto dy) { return y > 0 ? dy : decltype(dy){0}; });
}
void grad_relu_grad(Grad& g) { g.dx(1, apply("relu_grad", {g.x(0), g.dy()})); }

void forward_sigmoid_grad(const Call& call) {
  map_slope(call, [](auto y, auto dy) { return dy * y * (1 - y); });
}
void grad_sigmoid_grad(Grad& g) {
  const Var y = g.x(0);
  g.dx(0, mul(mul(g.dy(), g.x(1)), sub(g.number(1, y), add(y, y))));
  g.dx(1, apply("sigmoid_grad", {y, g.dy()}));
}

void forward_tanh_grad(const Call& call) {
  map_slope(call, [](auto y, auto dy) { return dy * (1 - y * y); });
}
void grad_tanh_grad(Grad& g) {
  const Var y = g.x(0);
  g.dx(0, neg(mul(mul(g.dy(), g.x(1)), add(y, y))));
  g.dx(1, apply("tanh_grad", {y, g.dy()}));
}

void forward_hard_swish_grad(const Call& call) {
  map_slope(call, [](auto x, auto dy) {
    using V = decltype(x);
    return x <= -3 ? V{0} : x < 3 ? dy * (x / 3 + V{0.5}) : dy;
  });
}

void forward_gelu_grad(const Call& call) {
  if (call.attrs.s("approximate", "none") == "tanh") {
    return map_slope(call, [](auto x, auto dy) {
      using V = decltype(x);
      constexpr V root = V{0.79788456080286536};
      constexpr V cubic = V{0.044715};
      const V t = std::tanh(root * (x + cubic * x * x * x));
      return dy * V{0.5} * (1 + t + x * (1 - t * t) * root * (1 + 3 * cubic * x * x));
    });
  }
  map_slope(call, [](auto x, auto dy) {
    using V = decltype(x);
    const V below = V{0.5} * (1 + std::erf(x * V{0.70710678118654752}));
    return dy * (below + x * std::exp(V{-0.5} * x * x) * V{0.39894228040143268});
  });
}

constexpr std::string_view no_second = "second derivatives of it are not written";

// ---- import rules ----

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
/// log(1 + exp(beta x)) / beta; x itself where beta x is above the threshold.
void paddle_softplus(ImportNode& n) {
  const Var x = n.need("X");
  const double beta = n.attrs.f("beta", 1);
  const double threshold = n.attrs.f("threshold", 20);
  if (beta == 0) n.refuse("beta is 0");
  const Var scaled = beta == 1 ? x : mul(x, scalar_like(n, x, beta));
  Var y = unary("softplus", scaled);
  if (beta != 1) y = div(y, scalar_like(n, x, beta));
  // Above 20 both are the same float.
  if (threshold < 20)
    y = apply("where", {apply("greater", {scaled, scalar_like(n, x, threshold)}), x, y});
  n.out("Out", y);
}

template <int base>
void paddle_log(ImportNode& n) {
  const Var x = n.need("X");
  n.out("Out", mul(unary("log", x), scalar_like(n, x, 1 / std::log(double{base}))));
}
void paddle_logsigmoid(ImportNode& n) { n.out("Out", neg(unary("softplus", neg(n.need("X"))))); }
void paddle_tanh_shrink(ImportNode& n) {
  n.out("Out", sub(n.need("X"), unary("tanh", n.need("X"))));
}
/// Whatever is not zero is true.
void paddle_logical_not(ImportNode& n) {
  n.out("Out", unary("not", cast_to(n.need("X"), DType::boolean)));
}
void paddle_isfinite(ImportNode& n) {
  const Var size = unary("abs", cast_to(n.need("X"), DType::f64));
  const Var limit =
      constant(n.program, scalar_of(DType::f64, std::numeric_limits<double>::infinity()));
  n.out("Out", apply("less", {size, limit}));
}

template <class Kinds, auto f>
OpDef same(std::string_view name, void (*grad)(Grad&), std::vector<Import> imports) {
  return {.name = name,
          .infer = infer_same<Kinds>,
          .forward = forward_map<Kinds, f>,
          .grad = grad,
          .imports = std::move(imports)};
}
template <class Kinds, auto f>
OpDef predicate(std::string_view name, std::vector<Import> imports) {
  return {.name = name,
          .infer = infer_predicate<Kinds>,
          .forward = forward_predicate<Kinds, f>,
          .grad = zero_gradient,
          .imports = std::move(imports)};
}

using Signed = decltype(Floats{} + Types<int8_t, int16_t, int32_t, int64_t>{});

}  // namespace

extern const std::vector<OpDef> unary_ops = {
    same<Numbers, absolute>("abs", grad_abs,
                            {{"onnx:Abs", onnx_same<"abs">}, {"paddle:abs", paddle_unary<"abs">}}),
    same<Signed, negative>("neg", grad_neg, {{"onnx:Neg", onnx_same<"neg">}}),
    same<Numbers, sign>("sign", zero_gradient,
                        {{"onnx:Sign", onnx_same<"sign">}, {"paddle:sign", paddle_unary<"sign">}}),
    same<Signed, relu>("relu", grad_by_output<"relu_grad">,
                       {{"onnx:Relu", onnx_same<"relu">}, {"paddle:relu", paddle_unary<"relu">}}),
    same<Floats, exponential>(
        "exp", grad_exp, {{"onnx:Exp", onnx_same<"exp">}, {"paddle:exp", paddle_unary<"exp">}}),
    same<Floats, logarithm>("log", grad_log,
                            {{"onnx:Log", onnx_same<"log">},
                             {"paddle:log", paddle_unary<"log">},
                             {"paddle:log2", paddle_log<2>},
                             {"paddle:log10", paddle_log<10>}}),
    same<Floats, logarithm_1p>("log1p", grad_log1p, {{"paddle:log1p", paddle_unary<"log1p">}}),
    same<Floats, square_root>(
        "sqrt", grad_sqrt,
        {{"onnx:Sqrt", onnx_same<"sqrt">}, {"paddle:sqrt", paddle_unary<"sqrt">}}),
    same<Floats, reciprocal>("reciprocal", grad_reciprocal,
                             {{"onnx:Reciprocal", onnx_same<"reciprocal">},
                              {"paddle:reciprocal", paddle_unary<"reciprocal">},
                              {"paddle:rsqrt", paddle_rsqrt}}),
    same<Floats, error_function>(
        "erf", grad_erf, {{"onnx:Erf", onnx_same<"erf">}, {"paddle:erf", paddle_unary<"erf">}}),
    same<Floats, floor>(
        "floor", zero_gradient,
        {{"onnx:Floor", onnx_same<"floor">}, {"paddle:floor", paddle_unary<"floor">}}),
    same<Floats, ceiling>(
        "ceil", zero_gradient,
        {{"onnx:Ceil", onnx_same<"ceil">}, {"paddle:ceil", paddle_unary<"ceil">}}),
    same<Floats, round_even>("round", zero_gradient,
                             {{"onnx:Round", onnx_same<"round">}, {"paddle:round", paddle_round}}),
    same<Floats, sine>("sin", grad_sin,
                       {{"onnx:Sin", onnx_same<"sin">}, {"paddle:sin", paddle_unary<"sin">}}),
    same<Floats, cosine>("cos", grad_cos,
                         {{"onnx:Cos", onnx_same<"cos">}, {"paddle:cos", paddle_unary<"cos">}}),
    same<Floats, tangent>("tan", grad_tan,
                          {{"onnx:Tan", onnx_same<"tan">}, {"paddle:tan", paddle_unary<"tan">}}),
    same<Floats, arc_sine>(
        "asin", grad_asin,
        {{"onnx:Asin", onnx_same<"asin">}, {"paddle:asin", paddle_unary<"asin">}}),
    same<Floats, arc_cosine>(
        "acos", grad_acos,
        {{"onnx:Acos", onnx_same<"acos">}, {"paddle:acos", paddle_unary<"acos">}}),
    same<Floats, arc_tangent>(
        "atan", grad_atan,
        {{"onnx:Atan", onnx_same<"atan">}, {"paddle:atan", paddle_unary<"atan">}}),
    same<Floats, sine_h>("sinh", grad_sinh,
                         {{"onnx:Sinh", onnx_same<"sinh">}, {"paddle:sinh", paddle_unary<"sinh">}}),
    same<Floats, cosine_h>(
        "cosh", grad_cosh,
        {{"onnx:Cosh", onnx_same<"cosh">}, {"paddle:cosh", paddle_unary<"cosh">}}),
    same<Floats, tangent_h>("tanh", grad_by_output<"tanh_grad">,
                            {{"onnx:Tanh", onnx_same<"tanh">},
                             {"paddle:tanh", paddle_unary<"tanh">},
                             {"paddle:tanh_shrink", paddle_tanh_shrink}}),
    same<Floats, arc_sine_h>("asinh", grad_asinh, {{"onnx:Asinh", onnx_same<"asinh">}}),
    same<Floats, arc_cosine_h>("acosh", grad_acosh, {{"onnx:Acosh", onnx_same<"acosh">}}),
    same<Floats, arc_tangent_h>("atanh", grad_atanh, {{"onnx:Atanh", onnx_same<"atanh">}}),
    same<Floats, sigmoid>(
        "sigmoid", grad_by_output<"sigmoid_grad">,
        {{"onnx:Sigmoid", onnx_same<"sigmoid">}, {"paddle:sigmoid", paddle_unary<"sigmoid">}}),
    same<Floats, softplus>("softplus", grad_softplus,
                           {{"onnx:Softplus", onnx_same<"softplus">},
                            {"paddle:softplus", paddle_softplus},
                            {"paddle:logsigmoid", paddle_logsigmoid}}),
    same<Floats, softsign>(
        "softsign", grad_softsign,
        {{"onnx:Softsign", onnx_same<"softsign">}, {"paddle:softsign", paddle_unary<"softsign">}}),
    same<Floats, hard_swish>(
        "hard_swish", grad_by_input<"hard_swish_grad">,
        {{"onnx:HardSwish", onnx_same<"hard_swish">}, {"paddle:hard_swish", paddle_hard_swish}}),
    predicate<Types<bool>, logical_not>(
        "not", {{"onnx:Not", onnx_same<"not">}, {"paddle:logical_not", paddle_logical_not}}),
    same<decltype(Integers{} + Types<bool>{}), bit_not>(
        "bit_not", nullptr,
        {{"onnx:BitwiseNot", onnx_same<"bit_not">},
         {"paddle:bitwise_not", paddle_unary<"bit_not">}}),
    predicate<Floats, is_nan>(
        "isnan", {{"onnx:IsNaN", onnx_same<"isnan">}, {"paddle:isnan_v2", paddle_unary<"isnan">}}),
    {.name = "isinf",
     .infer = infer_predicate<Floats>,
     .forward = forward_isinf,
     .grad = zero_gradient,
     .imports = {{"onnx:IsInf", onnx_same<"isinf">},
                 {"paddle:isinf_v2", paddle_unary<"isinf">},
                 {"paddle:isfinite_v2", paddle_isfinite}}},
    {.name = "gelu",
     .infer = infer_gelu,
     .forward = forward_gelu,
     .grad = grad_by_input<"gelu_grad">,
     .imports = {{"onnx:Gelu", onnx_same<"gelu">}, {"paddle:gelu", paddle_gelu}}},
    slope("relu_grad", forward_relu_grad, grad_relu_grad),
    slope("sigmoid_grad", forward_sigmoid_grad, grad_sigmoid_grad),
    slope("tanh_grad", forward_tanh_grad, grad_tanh_grad),
    slope("hard_swish_grad", forward_hard_swish_grad, nullptr, no_second),
    slope("gelu_grad", forward_gelu_grad, nullptr, no_second),
};

}  // namespace hub
