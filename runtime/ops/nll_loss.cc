// nll_loss(x [N, C, …], target [N, …], weight [C]?): -x of the target class times its weight;
// `reduction` "none" leaves one number a target, "sum" adds them, "mean" divides that by the sum of
// the weights. Targets equal to attribute `ignore_index` count for nothing.
#include <optional>

#include "runtime/ops/indices.h"
#include "runtime/ops/rules.h"

namespace hub {
namespace {

std::vector<Spec> infer_nll_loss(const Infer& in) {
  check_type(in, 0, Floats{});
  check_type(in, 1, IndexTypes{});
  const Shape& x = in.in(0).shape;
  if (x.rank() < 2) fail(Code::refused, "input 0 is ", in.in(0).str(), ": [N, C, …] is wanted");
  Shape targets{x[0]};
  for (size_t d = 2; d < x.rank(); ++d) targets.push_back(x[d]);
  if (in.in(1).shape != targets)
    fail(Code::refused, "targets are ", in.in(1).str(), ", wanted ", targets.str());
  if (in.has(2)) {
    check_same_type(in, 0, 2);
    if (in.in(2).shape != Shape{x[1]})
      fail(Code::refused, "weights are ", in.in(2).str(), ", wanted [", x[1], "]");
  }
  const auto how = in.attrs.s("reduction", "mean");
  if (how != "none" && how != "sum" && how != "mean")
    fail(Code::unsupported, "reduction '", how, "'");
  return {{in.in(0).dtype, how == "none" ? targets : Shape{}}};
}

void forward_nll_loss(const Call& call) {
  const AxisView view(call.x(0).shape(), 1);
  const auto targets = call.x(1).to_ints();
  const auto how = call.attrs.s("reduction", "mean");
  std::optional<int64_t> ignored;
  if (call.attrs.has("ignore_index")) ignored = call.attrs.i("ignore_index");
  dispatch(Floats{}, call.x(0).dtype(), [&]<class T>() {
    const T* x = call.x(0).data<T>();
    T* y = call.y().data<T>();
    double sum = 0;
    double weights = 0;
    for (size_t i = 0; i < targets.size(); ++i) {
      const int64_t c = targets[i];
      double loss = 0;
      if (c != ignored) {
        if (c < 0 || c >= view.length)
          fail(Code::refused, "target ", c, " of ", view.length, " classes");
        const auto at = static_cast<int64_t>(i);
        const double w = call.has(2) ? static_cast<double>(call.x(2).data<T>()[c]) : 1;
        loss = -w * static_cast<double>(
                        x[(at / view.inner * view.length + c) * view.inner + at % view.inner]);
        weights += w;
      }
      sum += loss;
      if (how == "none") y[i] = static_cast<T>(loss);
    }
    if (how != "none") *y = static_cast<T>(how == "sum" ? sum : sum / weights);
  });
}

void onnx_softmax_cross_entropy(ImportNode& n) {
  const Var log = apply("log_softmax", {n.need(0)}, {{"axis", int64_t{1}}});
  n.out(0, apply("nll_loss", {log, n.need(1), n.in(2)}, n.attrs));
  n.out(1, log);
}

}  // namespace

const OpDef nll_loss_op = {
    .name = "nll_loss",
    .min_inputs = 2,
    .max_inputs = 3,
    .infer = infer_nll_loss,
    .forward = forward_nll_loss,
    .imports = {{"onnx:NegativeLogLikelihoodLoss", onnx_same<"nll_loss">},
                {"onnx:SoftmaxCrossEntropyLoss", onnx_softmax_cross_entropy}},
};

}  // namespace hub
