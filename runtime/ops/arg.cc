// argmax and argmin(x): int64 indices along `axis` (0), keepdims (1). Among equals the first, or
// with select_last_index the last, is taken; NaN is never greater or less.
#include "runtime/ops/grad.h"
#include "runtime/ops/rules.h"

namespace hub {
namespace {

std::vector<Spec> infer_arg(const Infer& in) {
  check_type(in, 0, Numbers{});
  const Shape& from = in.in(0).shape;
  const size_t axis = axis_of(in.attrs.i("axis", 0), from.rank());
  if (from[axis] == 0)
    fail(Code::refused, "nothing to choose from: ", in.in(0).str(), " along axis ", axis);
  const bool keep = in.attrs.i("keepdims", 1) != 0;
  Shape to;
  for (size_t d = 0; d < from.rank(); ++d) {
    if (d != axis) to.push_back(from[d]);
    if (d == axis && keep) to.push_back(1);
  }
  return {{DType::i64, to}};
}

template <bool greatest>
void forward_arg(const Call& call) {
  const AxisView view(call.x(0).shape(),
                      axis_of(call.attrs.i("axis", 0), call.x(0).shape().rank()));
  const bool last = call.attrs.i("select_last_index", 0) != 0;
  int64_t* y = call.y().data<int64_t>();
  dispatch(Numbers{}, call.x(0).dtype(), [&]<class T>() {
    using W = wide_t<T>;
    const T* x = call.x(0).data<T>();
    for (int64_t o = 0; o < view.outer; ++o) {
      for (int64_t i = 0; i < view.inner; ++i) {
        const T* p = x + o * view.length * view.inner + i;
        int64_t best = 0;
        W value = static_cast<W>(*p);
        for (int64_t k = 1; k < view.length; ++k) {
          const W v = static_cast<W>(p[k * view.inner]);
          if ((greatest ? v > value : v < value) || (last && v == value)) {
            best = k;
            value = v;
          }
        }
        *y++ = best;
      }
    }
  });
}

/// dtype -1 means int64.
template <Literal op>
void paddle_arg(ImportNode& n) {
  Var x = n.need("X");
  int64_t axis = n.attrs.i("axis", -1);
  if (n.attrs.i("flatten", 0) != 0) {
    x = reshape(x, {-1});
    axis = 0;
  }
  Var y = apply(op.view(), {x}, {{"axis", axis}, {"keepdims", n.attrs.i("keepdims", 0)}});
  const Spec& declared = n.program[n.need("X").id].declared;
  const bool one = axis == 0 && (n.attrs.i("flatten", 0) != 0 ||
                                 (declared.dtype != DType::none && declared.shape.rank() == 1));
  if (one && n.attrs.i("keepdims", 0) == 0) y = paddle_scalar(n, y);
  if (n.attrs.i("dtype", -1) == 2) y = apply("cast", {y}, {{"to", "int32"}});
  n.out("Out", y);
}

}  // namespace

extern const std::vector<OpDef> arg_ops = {
    {.name = "argmax",
     .infer = infer_arg,
     .forward = forward_arg<true>,
     .grad = zero_gradient,
     .imports = {{"onnx:ArgMax", onnx_same<"argmax">}, {"paddle:arg_max", paddle_arg<"argmax">}}},
    {.name = "argmin",
     .infer = infer_arg,
     .forward = forward_arg<false>,
     .grad = zero_gradient,
     .imports = {{"onnx:ArgMin", onnx_same<"argmin">}, {"paddle:arg_min", paddle_arg<"argmin">}}},
};

}  // namespace hub
