// where(condition, a, b): a where the condition holds, b elsewhere; all three broadcast.
#include "runtime/ops/grad.h"
#include "runtime/ops/rules.h"

namespace hub {
namespace {

std::vector<Spec> infer_where(const Infer& in) {
  check_type(in, 0, Types<bool>{});
  check_same_type(in, 1, 2);
  return {{in.in(1).dtype, broadcast(broadcast(in.in(0).shape, in.in(1).shape), in.in(2).shape)}};
}

void forward_where(const Call& call) {
  const Shape& shape = call.y().shape();
  const bool* c = call.x(0).data<bool>();
  auto strides = [&](size_t i) { return broadcast_strides(call.x(i).shape(), shape); };
  dispatch_size(call.y().dtype(), [&]<class T>() {
    const T* a = call.x(1).data<T>();
    const T* b = call.x(2).data<T>();
    T* y = call.y().data<T>();
    each_row(Walk<3>{shape, {strides(0), strides(1), strides(2)}},
             [&](int64_t row, int64_t n, std::array<int64_t, 3> at, std::array<int64_t, 3> step) {
               for (int64_t i = 0; i < n; ++i) {
                 y[row + i] =
                     c[at[0] + i * step[0]] ? a[at[1] + i * step[1]] : b[at[2] + i * step[2]];
               }
             });
  });
}

void grad_where(Grad& g) {
  const Var zero = g.number(0, g.dy());
  g.dx(1, sum_to(apply("where", {g.x(0), g.dy(), zero}), g.x(1)));
  g.dx(2, sum_to(apply("where", {g.x(0), zero, g.dy()}), g.x(2)));
}

void paddle_where(ImportNode& n) {
  n.out("Out", apply("where", {n.need("Condition"), n.need("X"), n.need("Y")}));
}

}  // namespace

extern const OpDef where_op = {
    .name = "where",
    .min_inputs = 3,
    .max_inputs = 3,
    .infer = infer_where,
    .forward = forward_where,
    .grad = grad_where,
    .strings = true,
    .imports = {{"onnx:Where", onnx_same<"where">}, {"paddle:where", paddle_where}},
};

}  // namespace hub
