// Activations with parameters: y[i] = f(x[i], attributes).
//   leaky_relu alpha · elu alpha · selu alpha gamma · celu alpha · thresholded_relu alpha ·
//   hard_sigmoid alpha beta: clip(alpha x + beta, 0, 1) · swish beta: x sigmoid(beta x) · shrink
//   lambd bias · mish · prelu(x, slope): the slope broadcasts to x, or with channel = 1 holds one
//   number a channel (dimension 1).
#include <cmath>

#include "runtime/ops/nn.h"
#include "runtime/ops/rules.h"
#include "runtime/ops/slope.h"

namespace hub {
namespace {

std::vector<Spec> infer_same(const Infer& infer) { return {real_input(infer, 0)}; }

template <class F>
void map(const Call& call, F f) {
  dispatch(Reals{}, call.x(0).dtype(), [&]<class T>() {
    const T* x = call.x(0).data<T>();
    T* y = call.y().data<T>();
    parallel(call.x(0).numel(), 1 << 14, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) y[i] = static_cast<T>(f(x[i]));
    });
  });
}

void leaky_relu(const Call& call) {
  const double a = call.attrs.f("alpha", 0.01);
  map(call, [=]<class T>(T x) { return x < 0 ? static_cast<T>(a) * x : x; });
}

void elu(const Call& call) {
  const double a = call.attrs.f("alpha", 1);
  map(call, [=]<class T>(T x) { return x < 0 ? static_cast<T>(a) * std::expm1(x) : x; });
}

constexpr double selu_alpha = 1.67326319217681884765625;
constexpr double selu_gamma = 1.05070102214813232421875;
void selu(const Call& call) {
  const double a = call.attrs.f("alpha", selu_alpha);
  const double gamma = call.attrs.f("gamma", selu_gamma);
  map(call, [=]<class T>(T x) {
    return static_cast<T>(gamma) * (x < 0 ? static_cast<T>(a) * std::expm1(x) : x);
  });
}

void celu(const Call& call) {
  const double a = call.attrs.f("alpha", 1);
  map(call, [=]<class T>(T x) {
    return x < 0 ? static_cast<T>(a) * std::expm1(x / static_cast<T>(a)) : x;
  });
}

void thresholded_relu(const Call& call) {
  const double a = call.attrs.f("alpha", 1);
  map(call, [=]<class T>(T x) { return x > static_cast<T>(a) ? x : T{0}; });
}

void hard_sigmoid(const Call& call) {
  const double a = call.attrs.f("alpha", 0.2);
  const double b = call.attrs.f("beta", 0.5);
  map(call, [=]<class T>(T x) {
    return std::clamp(static_cast<T>(a) * x + static_cast<T>(b), T{0}, T{1});
  });
}

void swish(const Call& call) {
  const double b = call.attrs.f("beta", 1);
  map(call, [=]<class T>(T x) { return x / (1 + std::exp(-static_cast<T>(b) * x)); });
}

void shrink(const Call& call) {
  const double lambda = call.attrs.f("lambd", 0.5);
  const double bias = call.attrs.f("bias", 0);
  map(call, [=]<class T>(T x) {
    return x < static_cast<T>(-lambda)  ? x + static_cast<T>(bias)
           : x > static_cast<T>(lambda) ? x - static_cast<T>(bias)
                                        : T{0};
  });
}

void mish(const Call& call) {
  map(call, []<class T>(T x) { return x * std::tanh(x > 20 ? x : std::log1p(std::exp(x))); });
}

// ---- gradients; at a corner the one that torch takes ----

/// slope * dy below or at 0, `above` * dy elsewhere.
void grad_bent(Grad& g, Var below, double above = 1) {
  const Var x = g.x(0);
  const Var left = apply("less_equal", {x, g.number(0, x)});
  g.dx(0, mul(g.dy(), apply("where", {left, below, g.number(above, x)})));
}
void grad_elu(Grad& g) { grad_bent(g, add(g.y(), g.number(g.attrs.f("alpha", 1), g.y()))); }
void grad_selu(Grad& g) {
  const double gamma = g.attrs.f("gamma", selu_gamma);
  grad_bent(g, add(g.y(), g.number(gamma * g.attrs.f("alpha", selu_alpha), g.y())), gamma);
}
void grad_celu(Grad& g) {
  const Var alpha = g.number(g.attrs.f("alpha", 1), g.y());
  grad_bent(g, div(add(g.y(), alpha), alpha));
}
void grad_thresholded_relu(Grad& g) {
  const Var x = g.x(0);
  const Var passes = apply("greater", {x, g.number(g.attrs.f("alpha", 1), x)});
  g.dx(0, apply("where", {passes, g.dy(), g.number(0, x)}));
}
void grad_shrink(Grad& g) {
  const Var x = g.x(0);
  const Var passes = apply("greater", {unary("abs", x), g.number(g.attrs.f("lambd", 0.5), x)});
  g.dx(0, apply("where", {passes, g.dy(), g.number(0, x)}));
}
/// With t = tanh(softplus(x)): t + x (1 - t^2) sigmoid(x).
void grad_mish(Grad& g) {
  const Var x = g.x(0);
  const Var t = unary("tanh", unary("softplus", x));
  const Var bend = mul(sub(g.number(1, x), mul(t, t)), unary("sigmoid", x));
  g.dx(0, mul(g.dy(), add(t, mul(x, bend))));
}
template <Literal op>
void grad_by_slope(Grad& g) {
  g.dx(0, apply(op.view(), {g.x(0), g.dy()}, g.attrs));
}
/// A slope operator is linear in dy.
template <Literal op>
void grad_of_slope(Grad& g) {
  g.dx(1, apply(op.view(), {g.x(0), g.dy()}, g.attrs));
}

// leaky_relu_grad(x, dy), hard_sigmoid_grad(x, dy), swish_grad(x, dy) with the attributes of the
// functions.
void leaky_relu_grad(const Call& call) {
  const double a = call.attrs.f("alpha", 0.01);
  map_slope(call, [=]<class T>(T x, T dy) { return x > 0 ? dy : static_cast<T>(a) * dy; });
}
void hard_sigmoid_grad(const Call& call) {
  const double a = call.attrs.f("alpha", 0.2);
  const double b = call.attrs.f("beta", 0.5);
  map_slope(call, [=]<class T>(T x, T dy) {
    const T y = static_cast<T>(a) * x + static_cast<T>(b);
    return y > 0 && y < 1 ? static_cast<T>(a) * dy : T{0};
  });
}
void swish_grad(const Call& call) {
  const double b = call.attrs.f("beta", 1);
  map_slope(call, [=]<class T>(T x, T dy) {
    const T s = 1 / (1 + std::exp(-static_cast<T>(b) * x));
    return dy * s * (1 + static_cast<T>(b) * x * (1 - s));
  });
}

/// The slope as it is seen from x.
Shape slope_shape(const Attrs& attrs, const Shape& x, const Shape& slope) {
  if (attrs.i("channel", 0) == 0) return slope;
  Shape s;
  for (size_t d = 1; d < x.rank(); ++d) s.push_back(d == 1 ? slope.numel() : 1);
  return s;
}

std::vector<Spec> infer_prelu(const Infer& infer) {
  const Spec& x = real_input(infer, 0);
  check_same_type(infer, 0, 1);
  const Shape slope = slope_shape(infer.attrs, x.shape, infer.in(1).shape);
  if (slope.rank() > x.shape.rank() || !(broadcast(x.shape, slope) == x.shape)) {
    fail(Code::refused, "a slope of ", infer.in(1).shape.str(), " for an input of ", x.shape.str());
  }
  return {x};
}

void forward_prelu(const Call& call) {
  const Shape& shape = call.x(0).shape();
  const Strides strides =
      broadcast_strides(slope_shape(call.attrs, shape, call.x(1).shape()), shape);
  dispatch(Reals{}, call.x(0).dtype(), [&]<class T>() {
    const T* x = call.x(0).data<T>();
    const T* slope = call.x(1).data<T>();
    each_row(Walk<1>{shape, {strides}}, [&](int64_t row, int64_t count, std::array<int64_t, 1> at,
                                            std::array<int64_t, 1> step) {
      T* y = call.y().data<T>() + row;
      for (int64_t i = 0; i < count; ++i) {
        y[i] = x[row + i] < 0 ? x[row + i] * slope[at[0] + i * step[0]] : x[row + i];
      }
    });
  });
}

void grad_prelu(Grad& g) {
  const Var x = g.x(0);
  Var slope = g.x(1);
  if (g.attrs.i("channel", 0) != 0)
    slope = apply("align", {reshape(slope, {-1}), x}, {{"axis", int64_t{1}}});
  const Var zero = g.number(0, x);
  const Var right = apply("greater", {x, zero});
  g.dx(0, apply("where", {right, g.dy(), mul(g.dy(), slope)}));
  const Var by_slope = apply("where", {right, zero, mul(g.dy(), x)});
  g.dx(1, reshape_as(sum_to(by_slope, slope), g.x(1)));
}

/// Before opset 7 a slope of several numbers belonged to the channels.
void onnx_prelu(ImportNode& n) {
  const Var slope = n.need(1);
  const bool channel = n.version < 7 && (!slope.constant() || slope.constant().numel() > 1);
  n.out(0, apply("prelu", {n.need(0), slope}, {{"channel", int64_t{channel}}}));
}

void paddle_prelu(ImportNode& n) {
  const std::string mode = n.attrs.s("mode", "all");
  const bool channel = mode == "channel" && !channels_last(n);
  n.out("Out", apply("prelu", {n.need("X"), n.need("Alpha")}, {{"channel", int64_t{channel}}}));
}

/// X to Out; attributes `to` take the numbers of Paddle's `from`, or its default.
struct Rename {
  std::string_view to, from;
  double fallback;
};
void paddle(ImportNode& n, std::string_view op, std::initializer_list<Rename> renames) {
  Attrs attrs;
  for (const Rename& r : renames) attrs.set(std::string(r.to), n.attrs.f(r.from, r.fallback));
  n.out("Out", apply(op, {n.need("X")}, attrs));
}

void paddle_leaky_relu(ImportNode& n) { paddle(n, "leaky_relu", {{"alpha", "alpha", 0.02}}); }
void paddle_elu(ImportNode& n) { paddle(n, "elu", {{"alpha", "alpha", 1}}); }
void paddle_celu(ImportNode& n) { paddle(n, "celu", {{"alpha", "alpha", 1}}); }
void paddle_selu(ImportNode& n) {
  paddle(n, "selu",
         {{"alpha", "alpha", 1.6732632423543772}, {"gamma", "scale", 1.0507009873554805}});
}
void paddle_thresholded_relu(ImportNode& n) {
  paddle(n, "thresholded_relu", {{"alpha", "threshold", 1}});
}
void paddle_hard_sigmoid(ImportNode& n) {
  paddle(n, "hard_sigmoid", {{"alpha", "slope", 0.2}, {"beta", "offset", 0.5}});
}
void paddle_swish(ImportNode& n) { paddle(n, "swish", {{"beta", "beta", 1}}); }
void paddle_silu(ImportNode& n) { paddle(n, "swish", {}); }
void paddle_hard_shrink(ImportNode& n) { paddle(n, "shrink", {{"lambd", "threshold", 0.5}}); }
void paddle_softshrink(ImportNode& n) {
  paddle(n, "shrink", {{"lambd", "lambda", 0.5}, {"bias", "lambda", 0.5}});
}

OpDef activation(std::string_view name, void (*forward)(const Call&), void (*grad)(Grad&),
                 std::vector<Import> imports) {
  return {.name = name,
          .infer = infer_same,
          .forward = forward,
          .grad = grad,
          .imports = std::move(imports)};
}

}  // namespace

extern const std::vector<OpDef> activation_ops = {
    activation(
        "leaky_relu", widened<leaky_relu>, grad_by_slope<"leaky_relu_grad">,
        {{"onnx:LeakyRelu", onnx_same<"leaky_relu">}, {"paddle:leaky_relu", paddle_leaky_relu}}),
    activation("elu", widened<elu>, grad_elu,
               {{"onnx:Elu", onnx_same<"elu">}, {"paddle:elu", paddle_elu}}),
    activation("selu", widened<selu>, grad_selu,
               {{"onnx:Selu", onnx_same<"selu">}, {"paddle:selu", paddle_selu}}),
    activation("celu", widened<celu>, grad_celu,
               {{"onnx:Celu", onnx_same<"celu">}, {"paddle:celu", paddle_celu}}),
    activation("thresholded_relu", widened<thresholded_relu>, grad_thresholded_relu,
               {{"onnx:ThresholdedRelu", onnx_same<"thresholded_relu">},
                {"paddle:thresholded_relu", paddle_thresholded_relu}}),
    activation("hard_sigmoid", widened<hard_sigmoid>, grad_by_slope<"hard_sigmoid_grad">,
               {{"onnx:HardSigmoid", onnx_same<"hard_sigmoid">},
                {"paddle:hard_sigmoid", paddle_hard_sigmoid}}),
    activation("swish", widened<swish>, grad_by_slope<"swish_grad">,
               {{"paddle:swish", paddle_swish}, {"paddle:silu", paddle_silu}}),
    activation("shrink", widened<shrink>, grad_shrink,
               {{"onnx:Shrink", onnx_same<"shrink">},
                {"paddle:hard_shrink", paddle_hard_shrink},
                {"paddle:softshrink", paddle_softshrink}}),
    activation("mish", widened<mish>, grad_mish,
               {{"onnx:Mish", onnx_same<"mish">}, {"paddle:mish", paddle_unary<"mish">}}),
    {.name = "prelu",
     .min_inputs = 2,
     .max_inputs = 2,
     .infer = infer_prelu,
     .forward = widened<forward_prelu>,
     .grad = grad_prelu,
     .imports = {{"onnx:PRelu", onnx_prelu}, {"paddle:prelu", paddle_prelu}}},
    slope("leaky_relu_grad", leaky_relu_grad, grad_of_slope<"leaky_relu_grad">),
    slope("hard_sigmoid_grad", hard_sigmoid_grad, grad_of_slope<"hard_sigmoid_grad">),
    slope("swish_grad", swish_grad, nullptr, "second derivatives of it are not written"),
};

}  // namespace hub
