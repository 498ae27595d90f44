// reduce_*(x, axes?): over the axes named, or all of them; attribute keepdims (1) leaves dimensions
// of 1 behind. An empty list of axes means all too, unless noop_with_empty_axes is 1: then x goes
// through element by element. Floats are summed in double; sums and products of integers wrap.
#include <cmath>
#include <limits>

#include "runtime/ops/grad.h"
#include "runtime/ops/rules.h"

namespace hub {
namespace {

/// For each dimension of x: is it reduced?
std::array<bool, Shape::max_rank> reduced(const Attrs& attrs, size_t rank,
                                          const std::vector<int64_t>& axes) {
  std::array<bool, Shape::max_rank> which{};
  if (axes.empty()) {
    if (attrs.i("noop_with_empty_axes", 0) == 0) which.fill(true);
  } else {
    for (size_t a : axes_of(axes, rank)) which[a] = true;
  }
  return which;
}

template <class Kinds>
std::vector<Spec> infer_reduce(const Infer& in) {
  check_type(in, 0, Kinds{});
  const Shape& from = in.in(0).shape;
  const auto which = reduced(in.attrs, from.rank(), ints_of(in, 1, {}));
  const bool keep = in.attrs.i("keepdims", 1) != 0;
  Shape to;
  for (size_t d = 0; d < from.rank(); ++d) {
    if (!which[d]) to.push_back(from[d]);
    if (which[d] && keep) to.push_back(1);
  }
  return {{in.in(0).dtype, to}};
}

/// Runs join(place of the result, element of x) over all elements of x.
template <class T, class Join>
void each_reduced(const Call& call, Join join) {
  const Shape& shape = call.x(0).shape();
  const auto which =
      reduced(call.attrs, shape.rank(), call.has(1) ? call.x(1).to_ints() : std::vector<int64_t>{});
  Strides to{};
  int64_t stride = 1;
  for (size_t d = shape.rank(); d-- > 0;) {
    if (which[d]) continue;
    to[d] = stride;
    stride *= shape[d];
  }
  const T* x = call.x(0).data<T>();
  each_row(Walk<1>{shape, {to}},
           [&](int64_t row, int64_t n, std::array<int64_t, 1> at, std::array<int64_t, 1> step) {
             for (int64_t i = 0; i < n; ++i)
               join(at[0] + i * step[0], static_cast<wide_t<T>>(x[row + i]));
           });
}

// A reduction: its accumulator starts at start<Acc>(), join adds an element, finish turns it into
// the result. Sum is how elements of T accumulate where they are added or multiplied.
template <class T>
using Sum = std::conditional_t<is_float<T>, double, uint64_t>;

template <class T>
struct Total {
  using Acc = Sum<T>;
  static Acc start() { return 0; }
  static Acc join(Acc a, wide_t<T> v) { return a + static_cast<Acc>(v); }
  static auto finish(Acc a, int64_t) { return a; }
};
template <class T>
struct Mean : Total<T> {
  static auto finish(Sum<T> a, int64_t count) {
    if constexpr (is_float<T>) {
      return a / static_cast<double>(count);
    } else if constexpr (std::is_signed_v<T>) {
      return count == 0 ? int64_t{0} : static_cast<int64_t>(a) / count;
    } else {
      return count == 0 ? uint64_t{0} : a / static_cast<uint64_t>(count);
    }
  }
};
template <class T>
struct Product : Total<T> {
  static Sum<T> start() { return 1; }
  static Sum<T> join(Sum<T> a, wide_t<T> v) { return a * static_cast<Sum<T>>(v); }
};
template <class T>
struct SumSquare : Total<T> {
  static Sum<T> join(Sum<T> a, wide_t<T> v) {
    return a + static_cast<Sum<T>>(v) * static_cast<Sum<T>>(v);
  }
};
template <class T>
struct L1 : Total<T> {
  static Sum<T> join(Sum<T> a, wide_t<T> v) {
    const auto s = static_cast<Sum<T>>(v);
    return a + (v < wide_t<T>{0} ? Sum<T>{0} - s : s);
  }
};
template <class T>
struct L2 {
  using Acc = double;
  static Acc start() { return 0; }
  static Acc join(Acc a, wide_t<T> v) {
    return a + static_cast<double>(v) * static_cast<double>(v);
  }
  static double finish(Acc a, int64_t) { return std::sqrt(a); }
};
template <class T>
struct LogSum {
  using Acc = double;
  static Acc start() { return 0; }
  static Acc join(Acc a, wide_t<T> v) { return a + static_cast<double>(v); }
  static double finish(Acc a, int64_t) { return std::log(a); }
};
/// NaN stays once it is there.
template <class T>
struct Max {
  using Acc = wide_t<T>;
  static Acc start() {
    using Limits = std::numeric_limits<Acc>;
    return Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
  }
  static Acc join(Acc a, Acc v) { return a >= v || a != a ? a : v; }
  static Acc finish(Acc a, int64_t) { return a; }
};
template <class T>
struct Min : Max<T> {
  using Acc = wide_t<T>;
  static Acc start() {
    using Limits = std::numeric_limits<Acc>;
    return Limits::has_infinity ? Limits::infinity() : Limits::max();
  }
  static Acc join(Acc a, Acc v) { return a <= v || a != a ? a : v; }
};

template <class Kinds, template <class> class R>
void forward_reduce(const Call& call) {
  const auto size = static_cast<size_t>(call.y().numel());
  dispatch(Kinds{}, call.x(0).dtype(), [&]<class T>() {
    using Acc = typename R<T>::Acc;
    const auto acc = std::make_unique<Acc[]>(size);
    std::fill_n(acc.get(), size, R<T>::start());
    each_reduced<T>(call, [&](int64_t at, wide_t<T> v) { acc[at] = R<T>::join(acc[at], v); });
    const int64_t count = size == 0 ? 0 : call.x(0).numel() / static_cast<int64_t>(size);
    T* y = call.y().data<T>();
    for (size_t i = 0; i < size; ++i) y[i] = convert<T>(R<T>::finish(acc[i], count));
  });
}

/// log(Σ exp(x)), with the greatest x taken out first so that nothing overflows.
void forward_log_sum_exp(const Call& call) {
  const auto size = static_cast<size_t>(call.y().numel());
  dispatch(Numbers{}, call.x(0).dtype(), [&]<class T>() {
    std::vector<double> top(size, -std::numeric_limits<double>::infinity());
    std::vector<double> sum(size, 0);
    each_reduced<T>(call, [&](int64_t at, wide_t<T> v) {
      top[at] = std::max(top[at], static_cast<double>(v));
    });
    for (double& t : top) t = std::isinf(t) ? 0 : t;
    each_reduced<T>(call, [&](int64_t at, wide_t<T> v) {
      sum[at] += std::exp(static_cast<double>(v) - top[at]);
    });
    T* y = call.y().data<T>();
    for (size_t i = 0; i < size; ++i) y[i] = convert<T>(std::log(sum[i]) + top[i]);
  });
}

// ---- gradients ----

/// The shape of a reduction's result with dimensions of 1 where the input was reduced; one number
/// broadcasts as it is.
Var with_dims(Grad& g, Var v) {
  const bool dropped = g.attrs.i("keepdims", 1) == 0 && g.has(1);
  return dropped ? apply("unsqueeze", {v, g.x(1)}) : v;
}
/// Another reduction over the same axes, dimensions kept.
Var reduce_alike(Grad& g, std::string_view op, Var v) {
  const int64_t noop = g.attrs.i("noop_with_empty_axes", 0);
  return apply(op, {v, g.x(1)}, {{"keepdims", int64_t{1}}, {"noop_with_empty_axes", noop}});
}
void spread(Grad& g, Var dy) { g.dx(0, expand_as(with_dims(g, dy), g.x(0))); }

void grad_sum(Grad& g) { spread(g, g.dy()); }
void grad_mean(Grad& g) {
  auto size = [&](Var v) { return apply("cast", {apply("size", {v})}, {{"to", "float64"}}); };
  const Var count = div(size(g.x(0)), size(g.y()));
  spread(g, div(g.dy(), apply("cast", {count, g.dy()})));
}
/// Equal values share the gradient.
void grad_chosen(Grad& g) {
  const Var hit = apply("cast", {apply("equal", {g.x(0), with_dims(g, g.y())}), g.dy()});
  const Var share = div(with_dims(g, g.dy()), reduce_alike(g, "reduce_sum", hit));
  g.dx(0, mul(hit, share));
}
/// The product of the others, also where some are zero.
void grad_prod(Grad& g) {
  const Var x = g.x(0);
  const Var zero = g.number(0, x), one = g.number(1, x);
  const Var is_zero = apply("equal", {x, zero});
  const Var others = apply("where", {is_zero, one, x});
  const Var product = reduce_alike(g, "reduce_prod", others);
  const Var zeros = reduce_alike(g, "reduce_sum", apply("cast", {is_zero, x}));
  const Var alone = apply("where", {apply("equal", {zeros, one}), product, zero});
  const Var none = apply("where", {apply("equal", {zeros, zero}), div(product, others), zero});
  g.dx(0, mul(with_dims(g, g.dy()), apply("where", {is_zero, alone, none})));
}
void grad_l1(Grad& g) { g.dx(0, mul(with_dims(g, g.dy()), unary("sign", g.x(0)))); }
/// Zero at a length of zero.
void grad_l2(Grad& g) {
  const Var zero = g.number(0, g.y());
  const Var scale = apply("where", {apply("equal", {g.y(), zero}), zero, div(g.dy(), g.y())});
  g.dx(0, mul(with_dims(g, scale), g.x(0)));
}
void grad_log_sum(Grad& g) { spread(g, div(g.dy(), unary("exp", g.y()))); }
void grad_sum_square(Grad& g) { g.dx(0, mul(with_dims(g, g.dy()), add(g.x(0), g.x(0)))); }
void grad_log_sum_exp(Grad& g) {
  const Var share = unary("exp", sub(g.x(0), with_dims(g, g.y())));
  g.dx(0, mul(with_dims(g, g.dy()), share));
}

// ---- import rules ----

/// The axes moved from an attribute to an input at opset 13 (sum) and 18.
template <Literal op>
void onnx_reduce(ImportNode& n) {
  Attrs attrs{{"keepdims", n.attrs.i("keepdims", 1)}};
  if (n.attrs.has("noop_with_empty_axes"))
    attrs.set("noop_with_empty_axes", n.attrs.i("noop_with_empty_axes"));
  n.out(0, apply(op.view(), {n.need(0), ints_input(n, 1, "axes")}, attrs));
}

/// The dimensions that a Paddle node reduces: an empty list for all of them.
std::vector<int64_t> reduced(const ImportNode& n, std::string_view name) {
  if (n.attrs.i("reduce_all", 0) != 0) return {};
  auto dims = n.attrs.has(name) ? n.attrs.ints(name) : std::vector<int64_t>{0};
  const Value& x = n.program[n.need("X").id];
  const bool named = x.declared.dtype != DType::none && x.declared.shape.rank() == dims.size();
  if (named) dims.clear();
  return dims;
}

/// op over these dimensions of x; without dimensions left the result is Paddle's scalar.
Var reduce_to(ImportNode& n, std::string_view op, Var x, const std::vector<int64_t>& dims,
              bool keep) {
  const Var y = apply(op, {x, dims.empty() ? Var{} : ints(n, dims)}, {{"keepdims", int64_t{keep}}});
  return dims.empty() && !keep ? paddle_scalar(n, y) : y;
}

template <Literal op>
void paddle_reduce(ImportNode& n) {
  if (n.in("AxisTensor") || n.in("AxisTensorList")) n.refuse("the axes are computed");
  Var x = n.need("X");
  if (n.attrs.i("out_dtype", -1) >= 0) x = cast_to(x, paddle_type(n, "out_dtype"));
  n.out("Out", reduce_to(n, op.view(), x, reduced(n, "dim"), n.attrs.i("keep_dim", 0) != 0));
}

void paddle_mean(ImportNode& n) {
  n.out("Out", reduce_to(n, "reduce_mean", n.need("X"), {}, false));
}

void paddle_logsumexp(ImportNode& n) {
  n.out("Out", reduce_to(n, "reduce_log_sum_exp", n.need("X"), reduced(n, "axis"),
                         n.attrs.i("keepdim", 0) != 0));
}

/// The p-norm: counts what is not zero for 0, the largest or least magnitude for the infinities.
Var p_norm(ImportNode& n, Var x, double p, const std::vector<int64_t>& dims, bool keep) {
  auto over = [&](std::string_view op, Var v) { return reduce_to(n, op, v, dims, keep); };
  if (p == 1) return over("reduce_l1", x);
  if (p == 2) return over("reduce_l2", x);
  const Var size = unary("abs", x);
  if (std::isinf(p)) return over(p > 0 ? "reduce_max" : "reduce_min", size);
  if (p == 0) {
    const Var zero = apply("equal", {x, scalar_like(n, x, 0)});
    return over("reduce_sum", apply("cast", {apply("not", {zero}), x}));
  }
  const Var sum = over("reduce_sum", apply("pow", {size, scalar_like(n, x, p)}));
  return apply("pow", {sum, scalar_like(n, x, 1 / p)});
}

void paddle_p_norm(ImportNode& n) {
  const bool all = n.attrs.i("asvector", 0) != 0;
  n.out("Out", p_norm(n, n.need("X"), n.attrs.f("porder", 2),
                      all ? std::vector<int64_t>{} : std::vector<int64_t>{n.attrs.i("axis", -1)},
                      n.attrs.i("keepdim", 0) != 0));
}

void paddle_dist(ImportNode& n) {
  n.out("Out", p_norm(n, sub(n.need("X"), n.need("Y")), n.attrs.f("p", 2), {}, false));
}

/// Out = X / Norm, Norm = sqrt(sum of squares along the axis + epsilon).
void paddle_norm(ImportNode& n) {
  const Var x = n.need("X");
  const Var sum = reduce_to(n, "reduce_sum_square", x, {n.attrs.i("axis", -1)}, true);
  const Var norm = unary("sqrt", add(sum, scalar_like(n, x, n.attrs.f("epsilon", 1e-10))));
  n.out("Out", div(x, norm));
  n.out("Norm", norm);
}

void paddle_dot(ImportNode& n) {
  const Var both = mul(n.need("X"), n.need("Y"));
  const bool scalar = shape_of(n, n.need("X")).rank() == 1;
  n.out("Out", scalar ? reduce_to(n, "reduce_sum", both, {}, false)
                      : reduce_to(n, "reduce_sum", both, {-1}, paddle_rank_zero(n) ? false : true));
}

void paddle_squared_norm(ImportNode& n) {
  n.out("Out", apply("reshape", {apply("reduce_sum_square", {n.need("X")}), ints(n, {1})}));
}

/// Loss = -log(softmax) at the label, 0 where that is ignore_index; or weighted by soft labels.
void paddle_softmax_loss(ImportNode& n) {
  const Var x = n.need("Logits");
  const Var label = n.need("Label");
  const int64_t axis = n.attrs.i("axis", -1);
  if (n.attrs.i("use_softmax", 1) == 0) n.refuse("'use_softmax' is off");
  const Var logs = apply("log_softmax", {x}, {{"axis", axis}});
  n.out("Softmax", softmax(x, axis));
  if (n.attrs.i("soft_label", 0) != 0) {
    const Var sum = apply("reduce_sum", {mul(label, logs), ints(n, {axis})});
    return n.out("Loss", apply("neg", {sum}));
  }
  const Var ignored =
      apply("equal",
            {label, scalar_like(n, label, static_cast<double>(n.attrs.i("ignore_index", -100)))});
  const Var zero = scalar_like(n, label, 0);
  const Var at = apply("where", {ignored, zero, label});
  const Var loss = apply("neg", {apply("gather_elements", {logs, at}, {{"axis", axis}})});
  n.out("Loss", apply("where", {ignored, scalar_like(n, x, 0), loss}));
}

template <class Kinds, template <class> class R>
OpDef reduction(std::string_view name, void (*grad)(Grad&), std::vector<Import> imports) {
  return {.name = name,
          .max_inputs = 2,
          .infer = infer_reduce<Kinds>,
          .forward = forward_reduce<Kinds, R>,
          .grad = grad,
          .imports = std::move(imports)};
}

}  // namespace

extern const std::vector<OpDef> reduce_ops = {
    reduction<Numbers, Mean>("reduce_mean", grad_mean,
                             {{"onnx:ReduceMean", onnx_reduce<"reduce_mean">},
                              {"paddle:reduce_mean", paddle_reduce<"reduce_mean">},
                              {"paddle:mean", paddle_mean}}),
    reduction<Numbers, Total>("reduce_sum", grad_sum,
                              {{"onnx:ReduceSum", onnx_reduce<"reduce_sum">},
                               {"paddle:reduce_sum", paddle_reduce<"reduce_sum">},
                               {"paddle:dot", paddle_dot},
                               {"paddle:softmax_with_cross_entropy", paddle_softmax_loss}}),
    reduction<Everything, Max>("reduce_max", grad_chosen,
                               {{"onnx:ReduceMax", onnx_reduce<"reduce_max">},
                                {"paddle:reduce_max", paddle_reduce<"reduce_max">},
                                {"paddle:reduce_any", paddle_reduce<"reduce_max">}}),
    reduction<Everything, Min>("reduce_min", grad_chosen,
                               {{"onnx:ReduceMin", onnx_reduce<"reduce_min">},
                                {"paddle:reduce_min", paddle_reduce<"reduce_min">},
                                {"paddle:reduce_all", paddle_reduce<"reduce_min">}}),
    reduction<Numbers, Product>("reduce_prod", grad_prod,
                                {{"onnx:ReduceProd", onnx_reduce<"reduce_prod">},
                                 {"paddle:reduce_prod", paddle_reduce<"reduce_prod">}}),
    reduction<Numbers, L1>("reduce_l1", grad_l1, {{"onnx:ReduceL1", onnx_reduce<"reduce_l1">}}),
    reduction<Numbers, L2>("reduce_l2", grad_l2,
                           {{"onnx:ReduceL2", onnx_reduce<"reduce_l2">},
                            {"paddle:p_norm", paddle_p_norm},
                            {"paddle:dist", paddle_dist}}),
    reduction<Numbers, LogSum>("reduce_log_sum", grad_log_sum,
                               {{"onnx:ReduceLogSum", onnx_reduce<"reduce_log_sum">}}),
    reduction<Numbers, SumSquare>("reduce_sum_square", grad_sum_square,
                                  {{"onnx:ReduceSumSquare", onnx_reduce<"reduce_sum_square">},
                                   {"paddle:norm", paddle_norm},
                                   {"paddle:squared_l2_norm", paddle_squared_norm}}),
    {.name = "reduce_log_sum_exp",
     .max_inputs = 2,
     .infer = infer_reduce<Numbers>,
     .forward = forward_log_sum_exp,
     .grad = grad_log_sum_exp,
     .imports = {{"onnx:ReduceLogSumExp", onnx_reduce<"reduce_log_sum_exp">},
                 {"paddle:logsumexp", paddle_logsumexp}}},
};

}  // namespace hub
