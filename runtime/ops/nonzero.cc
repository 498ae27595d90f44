// nonzero(x): int64 [rank, n], a column for each element that is not zero with its index, in
// row-major order.
#include "runtime/ops/grad.h"
#include "runtime/ops/rules.h"

namespace hub {
namespace {

/// Calls f(i) for each element that is not zero.
template <class F>
void each_nonzero(const Tensor& x, F f) {
  dispatch(Everything{}, x.dtype(), [&]<class T>() {
    const T* p = x.data<T>();
    for (int64_t i = 0; i < x.numel(); ++i) {
      if (static_cast<wide_t<T>>(p[i]) != 0) f(i);
    }
  });
}

std::vector<Spec> infer_nonzero(const Infer& in) {
  int64_t count = 0;
  each_nonzero(in.value(0), [&](int64_t) { ++count; });
  return {{DType::i64, {static_cast<int64_t>(in.in(0).shape.rank()), count}}};
}

void forward_nonzero(const Call& call) {
  const Shape& shape = call.x(0).shape();
  int64_t* y = call.y().data<int64_t>();
  const int64_t count = call.y().shape()[1];
  int64_t column = 0;
  each_nonzero(call.x(0), [&](int64_t i) {
    for (size_t d = shape.rank(); d-- > 0; i /= shape[d])
      y[static_cast<int64_t>(d) * count + column] = i % shape[d];
    ++column;
  });
}

/// What stands where the condition holds, along an axis or in all of x.
void onnx_compress(ImportNode& n) {
  const Var at = reshape(apply("nonzero", {n.need(1)}), {-1});
  const bool along = n.attrs.has("axis");
  const Var x = along ? n.need(0) : reshape(n.need(0), {-1});
  n.out(0, apply("gather", {x, at}, {{"axis", along ? n.attrs.i("axis") : int64_t{0}}}));
}

/// Paddle has a row for each.
void paddle_where_index(ImportNode& n) {
  n.out("Out", apply("transpose", {apply("nonzero", {n.need("Condition")})}));
}

void paddle_masked_select(ImportNode& n) {
  const Var at = apply("transpose", {apply("nonzero", {n.need("Mask")})});
  n.out("Y", apply("gather_nd", {n.need("X"), at}));
}

}  // namespace

extern const OpDef nonzero_op = {
    .name = "nonzero",
    .infer = infer_nonzero,
    .forward = forward_nonzero,
    .grad = zero_gradient,
    .imports = {{"onnx:NonZero", onnx_same<"nonzero">},
                {"onnx:Compress", onnx_compress},
                {"paddle:where_index", paddle_where_index},
                {"paddle:masked_select", paddle_masked_select}},
};

}  // namespace hub
