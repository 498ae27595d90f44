// To the shape of another value, whose numbers do not matter: expand_as(x, like) broadcasts x to
// it, sum_to(x, like) adds up what a broadcast from it had repeated, reshape_as(x, like) keeps the
// elements. Gradients are full of them.
#include "runtime/ops/grad.h"
#include "runtime/ops/kernel.h"

namespace hub {
namespace {

std::vector<Spec> infer_expand_as(const Infer& in) {
  const Shape& like = in.in(1).shape;
  if (!(broadcast(in.in(0).shape, like) == like))
    fail(Code::refused, in.in(0).str(), " does not broadcast to ", like.str());
  return {{in.in(0).dtype, like}};
}
void forward_expand_as(const Call& call) {
  copy_strided(call.x(0), 0, broadcast_strides(call.x(0).shape(), call.y().shape()), call.y());
}
void grad_expand_as(Grad& g) { g.dx(0, sum_to(g.dy(), g.x(0))); }

std::vector<Spec> infer_sum_to(const Infer& in) {
  check_type(in, 0, Floats{});
  const Shape& like = in.in(1).shape;
  if (!(broadcast(in.in(0).shape, like) == in.in(0).shape))
    fail(Code::refused, "a broadcast of ", like.str(), " does not give ", in.in(0).str());
  return {{in.in(0).dtype, like}};
}
void forward_sum_to(const Call& call) {
  const Tensor& x = call.x(0);
  dispatch(Floats{}, x.dtype(), [&]<class T>() {
    std::vector<double> sums(static_cast<size_t>(call.y().numel()));
    const T* from = x.data<T>();
    each_row(Walk<1>{x.shape(), {broadcast_strides(call.y().shape(), x.shape())}},
             [&](int64_t row, int64_t n, auto at, auto step) {
               if (step[0] == 0) {
                 double sum = 0;
                 for (int64_t i = 0; i < n; ++i) sum += static_cast<wide_t<T>>(from[row + i]);
                 sums[static_cast<size_t>(at[0])] += sum;
               } else {
                 for (int64_t i = 0; i < n; ++i)
                   sums[static_cast<size_t>(at[0] + i * step[0])] +=
                       static_cast<wide_t<T>>(from[row + i]);
               }
             });
    for (size_t i = 0; i < sums.size(); ++i) call.y().data<T>()[i] = convert<T>(sums[i]);
  });
}
void grad_sum_to(Grad& g) { g.dx(0, apply("expand_as", {g.dy(), g.x(0)})); }

std::vector<Spec> infer_reshape_as(const Infer& in) {
  const Shape& like = in.in(1).shape;
  if (like.numel() != in.in(0).shape.numel())
    fail(Code::refused, in.in(0).str(), " has other elements than ", like.str());
  return {{in.in(0).dtype, like}};
}
void forward_reshape_as(const Call& call) {
  std::copy_n(call.x(0).data<std::byte>(), call.x(0).bytes(), call.y().data<std::byte>());
}
void grad_reshape_as(Grad& g) { g.dx(0, reshape_as(g.dy(), g.x(0))); }

OpDef same_shape(std::string_view name, std::vector<Spec> (*infer)(const Infer&),
                 void (*forward)(const Call&), void (*grad)(Grad&)) {
  return {.name = name,
          .min_inputs = 2,
          .max_inputs = 2,
          .spec_only = 0b10,
          .infer = infer,
          .forward = forward,
          .grad = grad,
          .settings = 0b10};
}

}  // namespace

extern const std::vector<OpDef> same_shape_ops = {
    same_shape("expand_as", infer_expand_as, forward_expand_as, grad_expand_as),
    same_shape("sum_to", infer_sum_to, forward_sum_to, grad_sum_to),
    same_shape("reshape_as", infer_reshape_as, forward_reshape_as, grad_reshape_as),
};

}  // namespace hub
