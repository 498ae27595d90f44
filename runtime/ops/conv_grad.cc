// Gradients of conv and conv_transpose, with the attributes of the call they belong to:
//   conv_input_grad(dy, w, x) -> dx             of x only the shape matters
//   conv_weight_grad(x, dy, w) -> dw, db        of w only the shape matters; db [channels of dy]
// and the same for conv_transpose_…. They are linear in both operands, so that their own gradients
// are convolutions again.
#include "runtime/ops/conv_walk.h"
#include "runtime/ops/grad.h"
#include "runtime/ops/list.h"
#include "runtime/ops/nn.h"

namespace hub {
namespace {

struct Names {
  const OpDef* op;
  std::string_view input_grad, weight_grad;
};
const Names conv_names{&conv_op, "conv_input_grad", "conv_weight_grad"};
const Names transpose_names{&conv_transpose_op, "conv_transpose_input_grad",
                            "conv_transpose_weight_grad"};
template <bool transpose>
constexpr const Names& names = transpose ? transpose_names : conv_names;

/// Checks that dy has the shape which the call makes of x and w.
template <bool transpose>
void check(const Infer& infer, size_t x, size_t w, size_t dy) {
  if (infer.attrs.has("post"))
    fail(Code::unsupported, "the gradient of a convolution with something fused behind it");
  const Spec* in[] = {&infer.in(x), &infer.in(w)};
  const Tensor* values[] = {nullptr, nullptr};
  need(infer, dy, names<transpose>.op->infer(Infer(infer.attrs, in, values))[0]);
}

template <bool transpose>
ConvWalk walk_of(const Attrs& attrs, const Shape& x, const Shape& w, const Shape& y) {
  if constexpr (transpose) {
    return {conv_transpose_window(attrs, spatial(x), spatial(w)), x, y, w};
  } else {
    return {conv_window(attrs, spatial(x), spatial(w)), y, x, w};
  }
}

template <bool transpose>
std::vector<Spec> infer_input(const Infer& infer) {
  check<transpose>(infer, 2, 1, 0);
  return {infer.in(2)};
}

template <bool transpose>
void forward_input(const Call& call) {
  dispatch(Reals{}, call.x(0).dtype(), [&]<class T>() {
    const ConvWalk walk =
        walk_of<transpose>(call.attrs, call.y().shape(), call.x(1).shape(), call.x(0).shape());
    T* dx = call.y().data<T>();
    std::fill_n(dx, call.y().numel(), T{});
    const T* dy = call.x(0).data<T>();
    const T* w = call.x(1).data<T>();
    transpose ? add_to_small(walk, dy, w, dx) : add_to_large(walk, dy, w, dx);
  });
}

template <bool transpose>
std::vector<Spec> infer_weight(const Infer& infer) {
  check<transpose>(infer, 0, 2, 1);
  return {infer.in(2), {infer.in(2).dtype, {infer.in(1).shape[1]}}};
}

template <bool transpose>
void forward_weight(const Call& call) {
  const Shape& y = call.x(1).shape();
  dispatch(Reals{}, call.x(0).dtype(), [&]<class T>() {
    const T* x = call.x(0).data<T>();
    const T* dy = call.x(1).data<T>();
    if (call.wants(0)) {
      const ConvWalk walk = walk_of<transpose>(call.attrs, call.x(0).shape(), call.y().shape(), y);
      T* dw = call.y().data<T>();
      transpose ? weights_of(walk, x, dy, dw) : weights_of(walk, dy, x, dw);
    }
    const int64_t size = y.numel(2, y.rank());
    for (int64_t c = 0; call.wants(1) && c < y[1]; ++c) {
      double sum = 0;
      for (int64_t n = 0; n < y[0]; ++n) {
        for (int64_t i = 0; i < size; ++i) sum += dy[(n * y[1] + c) * size + i];
      }
      call.y(1).data<T>()[c] = static_cast<T>(sum);
    }
  });
}

template <bool transpose>
void grad_input(Grad& g) {
  if (g.wants(0)) g.dx(0, apply(names<transpose>.op->name, {g.dy(), g.x(1)}, g.attrs));
  if (g.wants(1)) g.dx(1, apply(names<transpose>.weight_grad, {g.dy(), g.x(0), g.x(1)}, g.attrs));
}

template <bool transpose>
void grad_weight(Grad& g) {
  const Var dw = g.dy(0) ? g.dy(0) : g.zeros(g.x(2));
  if (g.wants(0)) g.dx(0, apply(names<transpose>.input_grad, {g.x(1), dw, g.x(0)}, g.attrs));
  if (g.wants(1)) g.dx(1, apply(names<transpose>.op->name, {g.x(0), dw, g.dy(1)}, g.attrs));
}

template <bool transpose>
OpDef input_grad() {
  return {.name = names<transpose>.input_grad,
          .min_inputs = 3,
          .max_inputs = 3,
          .spec_only = 0b100,
          .infer = infer_input<transpose>,
          .forward = widened<forward_input<transpose>>,
          .grad = grad_input<transpose>,
          .settings = 0b100};
}
template <bool transpose>
OpDef weight_grad() {
  return {.name = names<transpose>.weight_grad,
          .min_inputs = 3,
          .max_inputs = 3,
          .outputs = 2,
          .spec_only = 0b100,
          .infer = infer_weight<transpose>,
          .forward = widened<forward_weight<transpose>>,
          .grad = grad_weight<transpose>,
          .settings = 0b100};
}

}  // namespace

extern const std::vector<OpDef> conv_grad_ops = {input_grad<false>(), weight_grad<false>(),
                                                 input_grad<true>(), weight_grad<true>()};

}  // namespace hub
