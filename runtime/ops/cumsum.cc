// cumsum(x, axis): running sums along the axis; `exclusive` 1 leaves the element itself out,
// `reverse` 1 runs from the end.
#include "runtime/ops/grad.h"
#include "runtime/ops/rules.h"

namespace hub {
namespace {

std::vector<Spec> infer_cumsum(const Infer& in) {
  check_type(in, 0, Numbers{});
  if (in.in(1).shape.numel() != 1)
    fail(Code::refused, "axis is ", in.in(1).str(), ": one number is wanted");
  return {in.in(0)};
}

void forward_cumsum(const Call& call) {
  const AxisView view(call.y().shape(), axis_of(call.x(1).to_ints()[0], call.y().shape().rank()));
  const bool exclusive = call.attrs.i("exclusive", 0) != 0;
  const bool reverse = call.attrs.i("reverse", 0) != 0;
  dispatch(Numbers{}, call.y().dtype(), [&]<class T>() {
    using Sum = std::conditional_t<is_float<T>, double, uint64_t>;  // integers wrap
    const T* x = call.x(0).data<T>();
    T* y = call.y().data<T>();
    for (int64_t o = 0; o < view.outer; ++o) {
      for (int64_t i = 0; i < view.inner; ++i) {
        Sum sum = 0;
        for (int64_t k = 0; k < view.length; ++k) {
          const int64_t at =
              (o * view.length + (reverse ? view.length - 1 - k : k)) * view.inner + i;
          const Sum with = sum + static_cast<Sum>(static_cast<wide_t<T>>(x[at]));
          y[at] = static_cast<T>(exclusive ? sum : with);
          sum = with;
        }
      }
    }
  });
}

void grad_cumsum(Grad& g) {
  Attrs attrs = g.attrs;
  attrs.set("reverse", int64_t{g.attrs.i("reverse", 0) == 0});
  g.dx(0, apply("cumsum", {g.dy(), g.x(1)}, attrs));
}

void paddle_cumsum(ImportNode& n) {
  Var x = n.need("X");
  const bool flat = n.attrs.i("flatten", 0) != 0;
  if (flat) x = reshape(x, {-1});
  const Var axis = ints(n, {flat ? 0 : n.attrs.i("axis", -1)});
  n.out("Out",
        apply("cumsum", {x, axis},
              {{"exclusive", n.attrs.i("exclusive", 0)}, {"reverse", n.attrs.i("reverse", 0)}}));
}

}  // namespace

extern const OpDef cumsum_op = {
    .name = "cumsum",
    .min_inputs = 2,
    .max_inputs = 2,
    .infer = infer_cumsum,
    .forward = forward_cumsum,
    .grad = grad_cumsum,
    .imports = {{"onnx:CumSum", onnx_same<"cumsum">}, {"paddle:cumsum", paddle_cumsum}},
};

}  // namespace hub
