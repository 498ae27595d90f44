// one_hot(indices, depth, values): values = [off, on]; a new dimension of `depth` at `axis` (-1:
// the last), on where its index is the one named. Negative indices count from the back; those out
// of range light nothing.
#include <cmath>

#include "runtime/ops/grad.h"
#include "runtime/ops/rules.h"

namespace hub {
namespace {

std::vector<Spec> infer_one_hot(const Infer& in) {
  check_type(in, 0, Numbers{});
  check_type(in, 1, Numbers{});
  if (in.in(2).shape != Shape{2})
    fail(Code::refused, "values are ", in.in(2).str(), ": [off, on] is wanted");
  if (in.in(1).shape.numel() != 1)
    fail(Code::refused, "depth is ", in.in(1).str(), ": one number is wanted");
  const Shape& from = in.in(0).shape;
  const float depth = in.value(1).to_floats()[0];
  if (!(depth >= 0 && depth <= 0x1p31F)) fail(Code::refused, "a depth of ", depth);
  const size_t axis = axis_of(in.attrs.i("axis", -1), from.rank() + 1);
  Shape to;
  for (size_t d = 0; d < axis; ++d) to.push_back(from[d]);
  to.push_back(static_cast<int64_t>(depth));
  for (size_t d = axis; d < from.rank(); ++d) to.push_back(from[d]);
  return {{in.in(2).dtype, to}};
}

void forward_one_hot(const Call& call) {
  const Shape& shape = call.y().shape();
  const AxisView view(shape, axis_of(call.attrs.i("axis", -1), shape.rank()));
  const auto depth = static_cast<double>(view.length);
  dispatch_size(call.y().dtype(), [&]<class T>() {
    const T* values = call.x(2).data<T>();
    T* y = call.y().data<T>();
    std::fill_n(y, shape.numel(), values[0]);
    dispatch(Numbers{}, call.x(0).dtype(), [&]<class I>() {
      const I* indices = call.x(0).data<I>();
      for (int64_t i = 0; i < view.outer * view.inner; ++i) {
        auto at = std::trunc(static_cast<double>(indices[i]));
        if (at < 0) at += depth;
        if (!(at >= 0 && at < depth)) continue;
        y[(i / view.inner * view.length + static_cast<int64_t>(at)) * view.inner + i % view.inner] =
            values[1];
      }
    });
  });
}

/// Into the two values: what reached the places that are on, and the rest.
void grad_one_hot(Grad& g) {
  Tensor unit(DType::f64, {2});
  unit.data<double>()[0] = 0;
  unit.data<double>()[1] = 1;
  const Var values = apply("cast", {constant(g.program(), unit), g.dy()});
  const Var mask = apply("one_hot", {g.x(0), g.x(1), values}, g.attrs);
  const Var on = reshape(apply("reduce_sum", {mul(g.dy(), mask)}), {1});
  const Var all = reshape(apply("reduce_sum", {g.dy()}), {1});
  g.dx(2, apply("concat", {sub(all, on), on}, {{"axis", int64_t{0}}}));
}

/// float32 ones; the first version's X ends in a dimension of 1 that is replaced.
template <bool drops_last>
void paddle_one_hot(ImportNode& n) {
  Var x = n.need("X");
  if (drops_last) x = apply("squeeze", {x, ints(n, {-1})});
  Var depth = n.in("depth_tensor");
  if (!depth) depth = ints(n, {n.attrs.i("depth")});
  const Var values = constant(n.program, Tensor::floats({2}, {0, 1}));
  n.out("Out", apply("one_hot", {x, depth, values}));
}

}  // namespace

extern const OpDef one_hot_op = {
    .name = "one_hot",
    .min_inputs = 3,
    .max_inputs = 3,
    .infer = infer_one_hot,
    .forward = forward_one_hot,
    .grad = grad_one_hot,
    .settings = 0b11,
    .imports = {{"onnx:OneHot", onnx_same<"one_hot">},
                {"paddle:one_hot", paddle_one_hot<true>},
                {"paddle:one_hot_v2", paddle_one_hot<false>}},
};

}  // namespace hub
