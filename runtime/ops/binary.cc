// Elementwise functions of two tensors of the same type, broadcast as NumPy does: arithmetic,
// comparisons, logic, bits and bit shifts. Integers wrap; dividing one by zero is refused, the
// remainder takes the sign of the divisor (attribute fmod: of the dividend). pow takes any type of
// exponent.
#include <cmath>
#include <concepts>

#include "runtime/ops/grad.h"
#include "runtime/ops/rules.h"

namespace hub {
namespace {

template <class Kinds>
std::vector<Spec> infer_arithmetic(const Infer& in) {
  check_type(in, 0, Kinds{});
  check_same_type(in, 0, 1);
  return {{in.in(0).dtype, broadcast(in.in(0).shape, in.in(1).shape)}};
}

template <class Kinds>
std::vector<Spec> infer_comparison(const Infer& in) {
  auto out = infer_arithmetic<Kinds>(in);
  out[0].dtype = DType::boolean;
  return out;
}

/// One row: each operand advances by 0 or 1 (or, rarely, more); the usual cases are loops the
/// compiler can vectorise.
template <class A, class B, class Out, class F>
void run_row(const A* a, int64_t a_step, const B* b, int64_t b_step, Out* y, int64_t n, F f) {
  using WA = wide_t<A>;
  using WB = wide_t<B>;
  auto loop = [&](auto at_a, auto at_b) {
    for (int64_t i = 0; i < n; ++i)
      y[i] = static_cast<Out>(f(static_cast<WA>(at_a(i)), static_cast<WB>(at_b(i))));
  };
  auto each_a = [=](int64_t i) { return a[i]; };
  auto each_b = [=](int64_t i) { return b[i]; };
  if (a_step == 1 && b_step == 1) return loop(each_a, each_b);
  if (a_step == 1 && b_step == 0) return loop(each_a, [v = *b](int64_t) { return v; });
  if (a_step == 0 && b_step == 1) return loop([v = *a](int64_t) { return v; }, each_b);
  loop([=](int64_t i) { return a[i * a_step]; }, [=](int64_t i) { return b[i * b_step]; });
}

template <class A, class B, class Out, class F>
void zip(const Call& call, F f) {
  const Tensor& a = call.x(0);
  const Tensor& b = call.x(1);
  const A* pa = a.data<A>();
  const B* pb = b.data<B>();
  Out* y = call.y().data<Out>();
  const Shape& shape = call.y().shape();
  if (a.shape() == b.shape()) {
    return parallel(a.numel(), 1 << 14, [&](int64_t begin, int64_t end) {
      run_row(pa + begin, 1, pb + begin, 1, y + begin, end - begin, f);
    });
  }
  each_row(
      Walk<2>{shape, {broadcast_strides(a.shape(), shape), broadcast_strides(b.shape(), shape)}},
      [&](int64_t row, int64_t n, std::array<int64_t, 2> at, std::array<int64_t, 2> step) {
        run_row(pa + at[0], step[0], pb + at[1], step[1], y + row, n, f);
      });
}

template <class Kinds, auto f>
void forward_arithmetic(const Call& call) {
  dispatch(Kinds{}, call.x(0).dtype(), [&]<class T>() { zip<T, T, T>(call, f); });
}
template <class Kinds, auto f>
void forward_comparison(const Call& call) {
  dispatch(Kinds{}, call.x(0).dtype(), [&]<class T>() { zip<T, T, bool>(call, f); });
}

std::vector<Spec> infer_equal(const Infer& in) {
  return infer_comparison<decltype(Everything{} + Types<std::string>{})>(in);
}
void forward_equal(const Call& call) {
  const auto equal = [](const auto& a, const auto& b) { return a == b; };
  if (call.x(0).dtype() == DType::string) return zip<std::string, std::string, bool>(call, equal);
  dispatch(Everything{}, call.x(0).dtype(), [&]<class T>() { zip<T, T, bool>(call, equal); });
}

/// Wrapping integer arithmetic: in an unsigned type of at least int's width.
template <auto f, class V>
V wrapping(V a, V b) {
  if constexpr (std::is_integral_v<V>) {
    using U = std::make_unsigned_t<std::common_type_t<V, int>>;
    return static_cast<V>(f(static_cast<U>(a), static_cast<U>(b)));
  } else {
    return f(a, b);
  }
}
constexpr auto add_values = [](auto a, auto b) {
  return wrapping<[](auto x, auto y) { return x + y; }>(a, b);
};
constexpr auto sub_values = [](auto a, auto b) {
  return wrapping<[](auto x, auto y) { return x - y; }>(a, b);
};
constexpr auto mul_values = [](auto a, auto b) {
  return wrapping<[](auto x, auto y) { return x * y; }>(a, b);
};

/// Truncating, as C has it.
constexpr auto div_values = [](auto a, auto b) {
  using V = decltype(a);
  if constexpr (std::is_integral_v<V>) {
    if constexpr (std::is_signed_v<V>) {
      if (b == -1) return static_cast<V>(sub_values(V{0}, a));
    }
    return static_cast<V>(a / b);
  } else {
    return a / b;
  }
};

constexpr auto mod_values = [](auto a, auto b) {
  using V = decltype(a);
  if constexpr (std::is_integral_v<V>) {
    if constexpr (std::is_signed_v<V>) {
      if (b == -1) return V{0};
      const V r = static_cast<V>(a % b);
      return static_cast<V>(r != 0 && (r < 0) != (b < 0) ? r + b : r);
    } else {
      return static_cast<V>(a % b);
    }
  } else {
    const V r = std::fmod(a, b);
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
  }
};
constexpr auto fmod_values = [](auto a, auto b) {
  using V = decltype(a);
  if constexpr (std::is_integral_v<V>) {
    if constexpr (std::is_signed_v<V>) {
      if (b == -1) return V{0};
    }
    return static_cast<V>(a % b);
  } else {
    return std::fmod(a, b);
  }
};

constexpr auto bit_and_values = [](auto a, auto b) { return static_cast<decltype(a)>(a & b); };
constexpr auto bit_or_values = [](auto a, auto b) { return static_cast<decltype(a)>(a | b); };
constexpr auto bit_xor_values = [](auto a, auto b) { return static_cast<decltype(a)>(a ^ b); };
constexpr auto angle_values = [](auto a, auto b) { return std::atan2(a, b); };

/// NaN wins over any number.
template <class V>
bool is_nan(V v) {
  if constexpr (std::is_floating_point_v<V>) return std::isnan(v);
  return false;
}
constexpr auto min_values = [](auto a, auto b) { return a < b || is_nan(a) ? a : b; };
constexpr auto max_values = [](auto a, auto b) { return a > b || is_nan(a) ? a : b; };

constexpr auto less_values = [](auto a, auto b) { return a < b; };
constexpr auto less_equal_values = [](auto a, auto b) { return a <= b; };
constexpr auto greater_values = [](auto a, auto b) { return a > b; };
constexpr auto greater_equal_values = [](auto a, auto b) { return a >= b; };
constexpr auto and_values = [](bool a, bool b) { return a && b; };
constexpr auto or_values = [](bool a, bool b) { return a || b; };
constexpr auto xor_values = [](bool a, bool b) { return a != b; };

void refuse_zero_divisor(const Tensor& b) {
  if (!one_of_types(Integers{}, b.dtype())) return;
  dispatch(Integers{}, b.dtype(), [&]<class T>() {
    for (T v : b.values<T>()) {
      if (v == 0) fail(Code::numeric, "division of integers by zero");
    }
  });
}
void forward_div(const Call& call) {
  refuse_zero_divisor(call.x(1));
  forward_arithmetic<Numbers, div_values>(call);
}
void forward_mod(const Call& call) {
  refuse_zero_divisor(call.x(1));
  if (call.attrs.i("fmod", 0) != 0) return forward_arithmetic<Numbers, fmod_values>(call);
  forward_arithmetic<Numbers, mod_values>(call);
}

// pow(x, exponent): the result has the type of x. The exponent is taken in that type for floats,
// and for integers in int64 or, when it is a float itself, in double.
std::vector<Spec> infer_pow(const Infer& in) {
  check_type(in, 0, Numbers{});
  check_type(in, 1, Numbers{});
  return {{in.in(0).dtype, broadcast(in.in(0).shape, in.in(1).shape)}};
}

/// Integer powers wrap; a negative exponent gives what the reciprocal truncates to.
int64_t integer_power(int64_t base, int64_t exponent) {
  if (exponent < 0) return base == 1 ? 1 : base == -1 ? (exponent % 2 == 0 ? 1 : -1) : 0;
  int64_t result = 1;
  for (; exponent > 0; exponent >>= 1) {
    if (exponent & 1) result = mul_values(result, base);
    base = mul_values(base, base);
  }
  return result;
}
constexpr auto power = [](auto a, auto b) {
  if constexpr (std::is_floating_point_v<decltype(a)>) {
    return b == 2 ? a * a : std::pow(a, b);
  } else if constexpr (std::is_integral_v<decltype(b)>) {
    return integer_power(static_cast<int64_t>(a), b);
  } else {
    // The power of an integer may lie outside of every integer type.
    const double p = std::pow(static_cast<double>(a), b);
    return p >= -0x1p63 && p < 0x1p63 ? static_cast<int64_t>(p) : int64_t{0};
  }
};

void forward_pow(const Call& call) {
  const Tensor* given = call.in[1];
  const bool integers = one_of_types(Integers{}, call.x(0).dtype());
  DType dtype = call.x(0).dtype();
  if (integers) dtype = one_of_types(Integers{}, given->dtype()) ? DType::i64 : DType::f64;
  const Tensor exponent =
      run_reference(*find_op("cast"), {{"to", std::string(name_of(dtype))}}, {&given, 1})[0];
  const std::array<const Tensor*, 2> in = {call.in[0], &exponent};
  const Call typed{call.attrs, in, call.out};
  if (!integers) return forward_arithmetic<Floats, power>(typed);
  dispatch(Integers{}, call.x(0).dtype(), [&]<class T>() {
    if (dtype == DType::i64) return zip<T, int64_t, T>(typed, power);
    zip<T, double, T>(typed, power);
  });
}

// bit_shift: unsigned integers, attribute direction "LEFT" or "RIGHT"; shifting by the width or
// more gives 0.
using Unsigned = Types<uint8_t, uint16_t, uint32_t, uint64_t>;
std::vector<Spec> infer_shift(const Infer& in) {
  const auto& direction = in.attrs.s("direction");
  if (direction != "LEFT" && direction != "RIGHT") {
    fail(Code::refused, "direction is '", direction, "': 'LEFT' or 'RIGHT' is wanted");
  }
  return infer_arithmetic<Unsigned>(in);
}
void forward_shift(const Call& call) {
  const bool left = call.attrs.s("direction") == "LEFT";
  dispatch(Unsigned{}, call.x(0).dtype(), [&]<class T>() {
    zip<T, T, T>(call, [left](T a, T b) -> T {
      if (b >= 8 * sizeof(T)) return 0;
      return static_cast<T>(left ? uint64_t{a} << b : uint64_t{a} >> b);
    });
  });
}

// ---- gradients ----

void grad_add(Grad& g) {
  g.dx(0, sum_to(g.dy(), g.x(0)));
  g.dx(1, sum_to(g.dy(), g.x(1)));
}
void grad_sub(Grad& g) {
  g.dx(0, sum_to(g.dy(), g.x(0)));
  g.dx(1, neg(sum_to(g.dy(), g.x(1))));
}
void grad_mul(Grad& g) {
  if (g.wants(0)) g.dx(0, sum_to(mul(g.dy(), g.x(1)), g.x(0)));
  if (g.wants(1)) g.dx(1, sum_to(mul(g.dy(), g.x(0)), g.x(1)));
}
void grad_div(Grad& g) {
  const Var da = div(g.dy(), g.x(1));
  g.dx(0, sum_to(da, g.x(0)));
  if (g.wants(1)) g.dx(1, neg(sum_to(mul(da, g.y()), g.x(1))));
}
/// x = quotient * divisor + remainder, of which the quotient is piecewise constant.
void grad_mod(Grad& g) {
  g.dx(0, sum_to(g.dy(), g.x(0)));
  const Var quotient = div(sub(g.x(0), g.y()), g.x(1));
  g.dx(1, neg(sum_to(mul(g.dy(), quotient), g.x(1))));
}
/// Finite for a base of 0 or below wherever the derivative is: an exponent of 0 gives 0.
void grad_pow(Grad& g) {
  const Var x = g.x(0);
  const Tensor& known = g.x(1).constant();
  if (known && known.numel() == 1 && known.to_floats()[0] == 2) {
    return g.dx(0, sum_to(mul(g.dy(), add(x, x)), x));
  }
  const Var exponent = apply("cast", {g.x(1), x});
  const Var zero = g.number(0, x);
  const Var flat = apply("equal", {exponent, zero});
  if (g.wants(0)) {
    const Var slope = mul(exponent, apply("pow", {x, sub(exponent, g.number(1, x))}));
    g.dx(0, sum_to(mul(g.dy(), apply("where", {flat, zero, slope})), x));
  }
  if (g.wants(1)) {
    const Var stays =
        apply("and", {apply("equal", {x, zero}), apply("greater_equal", {exponent, zero})});
    const Var slope = apply("where", {stays, zero, mul(g.y(), unary("log", x))});
    g.dx(1, sum_to(mul(g.dy(), slope), g.x(1)));
  }
}
void grad_atan2(Grad& g) {
  const Var y = g.x(0);
  const Var x = g.x(1);
  const Var part = div(g.dy(), add(mul(y, y), mul(x, x)));
  g.dx(0, sum_to(mul(part, x), y));
  g.dx(1, neg(sum_to(mul(part, y), x)));
}
/// Equal values share the gradient. `loses`(a, b) says that a is not the one chosen.
template <Literal loses>
void grad_choice(Grad& g) {
  const Var zero = g.number(0, g.dy());
  const Var shared = apply(
      "where", {apply("equal", {g.x(0), g.x(1)}), mul(g.dy(), g.number(0.5, g.dy())), g.dy()});
  for (size_t i : {0, 1}) {
    const Var lost = apply(loses.view(), {g.x(i), g.x(1 - i)});
    g.dx(i, sum_to(apply("where", {lost, zero, shared}), g.x(i)));
  }
}

// ---- import rules ----

/// y so that its first dimension stands under dimension `axis` of x: at once where y is constant
/// and the rank of x is known, so that passes see a plain constant.
Var aligned(ImportNode& n, Var y, Var x, int64_t axis) {
  const Spec& declared = n.program[x.id].declared;
  const Tensor& number = y.constant();
  if (!number || declared.dtype == DType::none) return apply("align", {y, x}, {{"axis", axis}});
  const Tensor* in[] = {&number};
  const Spec spec = number.spec();
  const Spec* specs[] = {&spec, &declared};
  const Attrs attrs{{"axis", axis}};
  const Shape shape = within(
      n.name, [&] { return infer_outputs(*find_op("align"), Infer(attrs, specs, in))[0].shape; });
  // The parameter itself stays, so that it can be trained and found by its name.
  return shape == number.shape() ? y : reshape(y, shape.vec());
}

/// ONNX before opset 7 aligned B's first dimension with A's `axis` when `broadcast` was set.
template <Literal op>
void onnx_binary(ImportNode& n) {
  Var b = n.need(1);
  if (n.version < 7 && n.attrs.i("broadcast", 0) != 0 && n.attrs.has("axis")) {
    b = aligned(n, b, n.need(0), n.attrs.i("axis"));
  }
  Attrs attrs;
  for (const auto* kept : {"fmod", "direction"}) {
    if (auto it = n.attrs.items().find(kept); it != n.attrs.items().end())
      attrs.set(kept, it->second);
  }
  n.out(0, apply(op.view(), {n.need(0), b}, attrs));
}

/// Sum, Max, Min: any number of operands, from the left.
template <Literal op>
Var fold(const Vars& all) {
  Var sum = all[0];
  for (size_t i = 1; i < all.size(); ++i) sum = apply(op.view(), {sum, all[i]});
  return sum;
}
template <Literal op>
void onnx_fold(ImportNode& n) {
  n.need(0);
  n.out(0, fold<op>(n.positional_));
}
void onnx_mean(ImportNode& n) {
  const Var x = n.need(0);
  const auto count = static_cast<double>(n.inputs());
  n.out(0, apply("div", {fold<"add">(n.positional_), scalar_like(n, x, count)}));
}

/// Paddle aligns Y's first dimension with X's `axis`; -1 is NumPy's rule. Ones behind the other
/// dimensions of Y do not count.
template <Literal op>
void paddle_binary(ImportNode& n) {
  Var y = n.need("Y");
  if (const int64_t axis = n.attrs.i("axis", -1); axis != -1) {
    y = aligned(n, y, n.need("X"), axis);
  }
  n.out("Out", apply(op.view(), {n.need("X"), y}));
}

void paddle_not_equal(ImportNode& n) {
  n.out("Out", apply("not", {apply("equal", {n.need("X"), n.need("Y")})}));
}

/// Whatever is not zero is true.
template <Literal op>
void paddle_logical(ImportNode& n) {
  n.out("Out", apply(op.view(),
                     {cast_to(n.need("X"), DType::boolean), cast_to(n.need("Y"), DType::boolean)}));
}

/// Towards minus infinity since 2.6, towards zero before.
void paddle_floor_div(ImportNode& n) {
  const Var x = n.need("X");
  Var y = n.need("Y");
  if (const int64_t axis = n.attrs.i("axis", -1); axis != -1) y = aligned(n, y, x, axis);
  if (n.version != 0 && n.version < 2006000)
    n.refuse("a program of version ", n.version,
             " may mean division towards zero or towards minus infinity");
  const DType dtype = n.program[x.id].declared.dtype;
  if (dtype == DType::none) n.refuse("the type of '", n.program[x.id].name, "' is not declared");
  const bool real = one_of_types(Floats{}, dtype);
  n.out("Out", real ? unary("floor", div(x, y)) : div(sub(x, apply("mod", {x, y})), y));
}

void paddle_atan2(ImportNode& n) { n.out("Out", apply("atan2", {n.need("X1"), n.need("X2")})); }

void paddle_increment(ImportNode& n) {
  const Var x = n.need("X");
  n.out("Out", add(x, scalar_like(n, x, n.attrs.f("step", 1))));
}

/// Out = scale * X + bias, or scale * (X + bias).
void paddle_scale(ImportNode& n) {
  const Var x = n.need("X");
  const Var given = n.in("ScaleTensor");
  const double scale = n.attrs.f("scale", 1);
  const double bias = n.attrs.f("bias", 0);
  const bool after = n.attrs.i("bias_after_scale", 1) != 0;
  auto biased = [&](Var v) { return bias == 0 ? v : add(v, scalar_like(n, x, bias)); };
  auto scaled = [&](Var v) {
    if (given) return mul(v, given);
    return scale == 1 ? v : mul(v, scalar_like(n, x, scale));
  };
  n.out("Out", after ? biased(scaled(x)) : scaled(biased(x)));
}

void paddle_sum(ImportNode& n) {
  n.need("X");
  n.out("Out", fold<"add">(n.all("X")));
}

void paddle_square(ImportNode& n) { n.out("Out", mul(n.need("X"), n.need("X"))); }

void paddle_pow(ImportNode& n) {
  const Var factor = n.in("FactorTensor");
  n.out("Out",
        apply("pow", {n.need("X"),
                      factor ? factor : scalar_like(n, n.need("X"), n.attrs.f("factor", 1))}));
}

OpDef binary(std::string_view name, std::vector<Spec> (*infer)(const Infer&),
             void (*forward)(const Call&), void (*grad)(Grad&), std::vector<Import> imports) {
  return {.name = name,
          .min_inputs = 2,
          .max_inputs = 2,
          .infer = infer,
          .forward = forward,
          .grad = grad,
          .imports = std::move(imports)};
}

OpDef equal(std::vector<Import> imports) {
  OpDef op = binary("equal", infer_equal, forward_equal, zero_gradient, std::move(imports));
  op.strings = true;
  return op;
}

template <auto f>
OpDef bits(std::string_view name, std::vector<Import> imports) {
  using Whole = decltype(Integers{} + Types<bool>{});
  return binary(name, infer_arithmetic<Whole>, forward_arithmetic<Whole, f>, nullptr,
                std::move(imports));
}

}  // namespace

extern const std::vector<OpDef> binary_ops = {
    binary("add", infer_arithmetic<Numbers>, forward_arithmetic<Numbers, add_values>, grad_add,
           {{"onnx:Add", onnx_binary<"add">},
            {"onnx:Sum", onnx_fold<"add">},
            {"onnx:Mean", onnx_mean},
            {"paddle:elementwise_add", paddle_binary<"add">},
            {"paddle:increment", paddle_increment},
            {"paddle:sum", paddle_sum}}),
    binary("sub", infer_arithmetic<Numbers>, forward_arithmetic<Numbers, sub_values>, grad_sub,
           {{"onnx:Sub", onnx_binary<"sub">}, {"paddle:elementwise_sub", paddle_binary<"sub">}}),
    binary("mul", infer_arithmetic<Numbers>, forward_arithmetic<Numbers, mul_values>, grad_mul,
           {{"onnx:Mul", onnx_binary<"mul">},
            {"paddle:elementwise_mul", paddle_binary<"mul">},
            {"paddle:scale", paddle_scale},
            {"paddle:square", paddle_square}}),
    binary("div", infer_arithmetic<Numbers>, forward_div, grad_div,
           {{"onnx:Div", onnx_binary<"div">},
            {"paddle:elementwise_div", paddle_binary<"div">},
            {"paddle:elementwise_floordiv", paddle_floor_div}}),
    binary("mod", infer_arithmetic<Numbers>, forward_mod, grad_mod,
           {{"onnx:Mod", onnx_binary<"mod">}, {"paddle:elementwise_mod", paddle_binary<"mod">}}),
    binary("pow", infer_pow, forward_pow, grad_pow,
           {{"onnx:Pow", onnx_binary<"pow">},
            {"paddle:elementwise_pow", paddle_binary<"pow">},
            {"paddle:pow", paddle_pow}}),
    binary("min", infer_arithmetic<Numbers>, forward_arithmetic<Numbers, min_values>,
           grad_choice<"greater">,
           {{"onnx:Min", onnx_fold<"min">}, {"paddle:elementwise_min", paddle_binary<"min">}}),
    binary("max", infer_arithmetic<Numbers>, forward_arithmetic<Numbers, max_values>,
           grad_choice<"less">,
           {{"onnx:Max", onnx_fold<"max">}, {"paddle:elementwise_max", paddle_binary<"max">}}),
    equal({{"onnx:Equal", onnx_binary<"equal">},
           {"paddle:equal", paddle_binary<"equal">},
           {"paddle:not_equal", paddle_not_equal}}),
    binary("less", infer_comparison<Numbers>, forward_comparison<Numbers, less_values>,
           zero_gradient,
           {{"onnx:Less", onnx_binary<"less">}, {"paddle:less_than", paddle_binary<"less">}}),
    binary("less_equal", infer_comparison<Numbers>, forward_comparison<Numbers, less_equal_values>,
           zero_gradient,
           {{"onnx:LessOrEqual", onnx_binary<"less_equal">},
            {"paddle:less_equal", paddle_binary<"less_equal">}}),
    binary("greater", infer_comparison<Numbers>, forward_comparison<Numbers, greater_values>,
           zero_gradient,
           {{"onnx:Greater", onnx_binary<"greater">},
            {"paddle:greater_than", paddle_binary<"greater">}}),
    binary("greater_equal", infer_comparison<Numbers>,
           forward_comparison<Numbers, greater_equal_values>, zero_gradient,
           {{"onnx:GreaterOrEqual", onnx_binary<"greater_equal">},
            {"paddle:greater_equal", paddle_binary<"greater_equal">}}),
    binary("and", infer_arithmetic<Types<bool>>, forward_arithmetic<Types<bool>, and_values>,
           zero_gradient,
           {{"onnx:And", onnx_binary<"and">}, {"paddle:logical_and", paddle_logical<"and">}}),
    binary("or", infer_arithmetic<Types<bool>>, forward_arithmetic<Types<bool>, or_values>,
           zero_gradient,
           {{"onnx:Or", onnx_binary<"or">}, {"paddle:logical_or", paddle_logical<"or">}}),
    binary("xor", infer_arithmetic<Types<bool>>, forward_arithmetic<Types<bool>, xor_values>,
           zero_gradient,
           {{"onnx:Xor", onnx_binary<"xor">}, {"paddle:logical_xor", paddle_logical<"xor">}}),
    bits<bit_and_values>("bit_and", {{"onnx:BitwiseAnd", onnx_binary<"bit_and">},
                                     {"paddle:bitwise_and", paddle_binary<"bit_and">}}),
    bits<bit_or_values>("bit_or", {{"onnx:BitwiseOr", onnx_binary<"bit_or">},
                                   {"paddle:bitwise_or", paddle_binary<"bit_or">}}),
    bits<bit_xor_values>("bit_xor", {{"onnx:BitwiseXor", onnx_binary<"bit_xor">},
                                     {"paddle:bitwise_xor", paddle_binary<"bit_xor">}}),
    binary("atan2", infer_arithmetic<Floats>, forward_arithmetic<Floats, angle_values>, grad_atan2,
           {{"paddle:atan2", paddle_atan2}}),
    binary("bit_shift", infer_shift, forward_shift, zero_gradient,
           {{"onnx:BitShift", onnx_binary<"bit_shift">}}),
};

}  // namespace hub
