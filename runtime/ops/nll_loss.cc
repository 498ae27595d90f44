// nll_loss(x [N, C, …], target [N, …], weight [C]?): -x of the target class times its weight;
// `reduction` "none" leaves one number a target, "sum" adds them, "mean" divides that by the sum of
// the weights. Targets equal to attribute `ignore_index` count for nothing. nll_loss_grad(target,
// dy, like, weight?) is its gradient into something shaped like `like`.
#include <optional>

#include "runtime/ops/grad.h"
#include "runtime/ops/indices.h"
#include "runtime/ops/rules.h"

namespace hub {
namespace {

/// The shape of the loss; inputs `score`, `target` and `weight` are the scores and so on.
Shape loss_shape(const Infer& in, size_t score, size_t target, size_t weight) {
  check_type(in, score, Floats{});
  check_type(in, target, IndexTypes{});
  const Shape& x = in.in(score).shape;
  if (x.rank() < 2)
    fail(Code::refused, "the scores are ", in.in(score).str(), ": [N, C, …] is wanted");
  Shape targets{x[0]};
  for (size_t d = 2; d < x.rank(); ++d) targets.push_back(x[d]);
  if (in.in(target).shape != targets)
    fail(Code::refused, "targets are ", in.in(target).str(), ", wanted ", targets.str());
  if (in.has(weight)) {
    check_same_type(in, score, weight);
    if (in.in(weight).shape != Shape{x[1]})
      fail(Code::refused, "weights are ", in.in(weight).str(), ", wanted [", x[1], "]");
  }
  const auto how = in.attrs.s("reduction", "mean");
  if (how != "none" && how != "sum" && how != "mean")
    fail(Code::unsupported, "reduction '", how, "'");
  return how == "none" ? targets : Shape{};
}

std::vector<Spec> infer_nll_loss(const Infer& in) {
  return {{in.in(0).dtype, loss_shape(in, 0, 1, 2)}};
}

/// Where in [N, C, …] target i of class c points.
int64_t place(const AxisView& view, size_t i, int64_t c) {
  const auto at = static_cast<int64_t>(i);
  return (at / view.inner * view.length + c) * view.inner + at % view.inner;
}

void check_target(int64_t c, int64_t classes) {
  if (c < 0 || c >= classes) fail(Code::refused, "target ", c, " of ", classes, " classes");
}

std::optional<int64_t> ignored_by(const Attrs& attrs) {
  if (!attrs.has("ignore_index")) return {};
  return attrs.i("ignore_index");
}

void forward_nll_loss(const Call& call) {
  const AxisView view(call.x(0).shape(), 1);
  const auto targets = call.x(1).to_ints();
  const auto how = call.attrs.s("reduction", "mean");
  const auto ignored = ignored_by(call.attrs);
  dispatch(Floats{}, call.x(0).dtype(), [&]<class T>() {
    const T* x = call.x(0).data<T>();
    T* y = call.y().data<T>();
    double sum = 0;
    double weights = 0;
    for (size_t i = 0; i < targets.size(); ++i) {
      const int64_t c = targets[i];
      double loss = 0;
      if (c != ignored) {
        check_target(c, view.length);
        const double w = call.has(2) ? static_cast<double>(call.x(2).data<T>()[c]) : 1;
        loss = -w * static_cast<double>(x[place(view, i, c)]);
        weights += w;
      }
      sum += loss;
      if (how == "none") y[i] = static_cast<T>(loss);
    }
    if (how != "none") *y = static_cast<T>(how == "sum" ? sum : sum / weights);
  });
}

void grad_nll_loss(Grad& g) {
  g.dx(0, apply("nll_loss_grad", {g.x(1), g.dy(), g.x(0), g.x(2)}, g.attrs));
}

std::vector<Spec> infer_nll_loss_grad(const Infer& in) {
  const Shape wanted = loss_shape(in, 2, 0, 3);
  if (in.in(1) != Spec{in.in(2).dtype, wanted})
    fail(Code::refused, "the gradient is ", in.in(1).str(), ", wanted ", wanted.str());
  return {in.in(2)};
}

void forward_nll_loss_grad(const Call& call) {
  const AxisView view(call.y().shape(), 1);
  const auto targets = call.x(0).to_ints();
  const auto how = call.attrs.s("reduction", "mean");
  const auto ignored = ignored_by(call.attrs);
  dispatch(Floats{}, call.y().dtype(), [&]<class T>() {
    T* dx = call.y().data<T>();
    std::fill_n(dx, call.y().numel(), T(0));
    auto weight = [&](int64_t c) {
      return call.has(3) ? static_cast<double>(call.x(3).data<T>()[c]) : 1;
    };
    double weights = how == "mean" ? 0 : 1;
    for (int64_t c : targets) {
      if (c == ignored) continue;
      check_target(c, view.length);
      if (how == "mean") weights += weight(c);
    }
    const T* dy = call.x(1).data<T>();
    for (size_t i = 0; i < targets.size(); ++i) {
      const int64_t c = targets[i];
      if (c == ignored) continue;
      const double loss = static_cast<double>(dy[how == "none" ? i : 0]);
      dx[place(view, i, c)] = static_cast<T>(-weight(c) * loss / weights);
    }
  });
}

void grad_nll_loss_grad(Grad& g) { g.dx(1, apply("nll_loss", {g.dy(), g.x(0), g.x(3)}, g.attrs)); }

void onnx_softmax_cross_entropy(ImportNode& n) {
  const Var log = apply("log_softmax", {n.need(0)}, {{"axis", int64_t{1}}});
  n.out(0, apply("nll_loss", {log, n.need(1), n.in(2)}, n.attrs));
  n.out(1, log);
}

}  // namespace

extern const OpDef nll_loss_op = {
    .name = "nll_loss",
    .min_inputs = 2,
    .max_inputs = 3,
    .infer = infer_nll_loss,
    .forward = forward_nll_loss,
    .grad = grad_nll_loss,
    .settings = 0b100,
    .imports = {{"onnx:NegativeLogLikelihoodLoss", onnx_same<"nll_loss">},
                {"onnx:SoftmaxCrossEntropyLoss", onnx_softmax_cross_entropy}},
};

extern const OpDef nll_loss_grad_op = {
    .name = "nll_loss_grad",
    .min_inputs = 3,
    .max_inputs = 4,
    .spec_only = 0b100,
    .infer = infer_nll_loss_grad,
    .forward = forward_nll_loss_grad,
    .grad = grad_nll_loss_grad,
    .settings = 0b1100,
};

}  // namespace hub
