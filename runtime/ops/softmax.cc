// Softmax and its logarithm along an axis, and the position of the largest as ones and zeros
// (hardmax).
#include <cmath>

#include "runtime/ops/grad.h"
#include "runtime/ops/nn.h"
#include "runtime/ops/rules.h"

namespace hub {
namespace {

std::vector<Spec> infer_along(const Infer& infer) {
  const Spec& x = real_input(infer, 0, 1);
  axis_of(infer.attrs.i("axis", -1), x.shape.rank());
  return {x};
}

/// line(x, y, length, step): one line along the axis.
template <class Line>
void each_line(const Call& call, Line line) {
  const AxisView v(call.x(0).shape(), axis_of(call.attrs.i("axis", -1), call.x(0).shape().rank()));
  if (v.length == 0) return;
  dispatch(Reals{}, call.x(0).dtype(), [&]<class T>() {
    parallel(v.outer * v.inner, std::max<int64_t>(1, 4096 / v.length),
             [&](int64_t begin, int64_t end) {
               for (int64_t i = begin; i < end; ++i) {
                 const int64_t at = i / v.inner * v.length * v.inner + i % v.inner;
                 line(call.x(0).data<T>() + at, call.y().data<T>() + at, v.length, v.inner);
               }
             });
  });
}

template <class T>
T largest(const T* x, int64_t length, int64_t step) {
  T most = x[0];
  for (int64_t i = 1; i < length; ++i) most = std::max(most, x[i * step]);
  return most;
}

void forward_softmax(const Call& call) {
  each_line(call, []<class T>(const T* x, T* y, int64_t length, int64_t step) {
    const T most = largest(x, length, step);
    T sum = 0;
    for (int64_t i = 0; i < length; ++i) sum += y[i * step] = std::exp(x[i * step] - most);
    for (int64_t i = 0; i < length; ++i) y[i * step] /= sum;
  });
}

void forward_log_softmax(const Call& call) {
  each_line(call, []<class T>(const T* x, T* y, int64_t length, int64_t step) {
    const T most = largest(x, length, step);
    T sum = 0;
    for (int64_t i = 0; i < length; ++i) sum += std::exp(x[i * step] - most);
    const T log_sum = most + std::log(sum);
    for (int64_t i = 0; i < length; ++i) y[i * step] = x[i * step] - log_sum;
  });
}

void forward_hardmax(const Call& call) {
  each_line(call, []<class T>(const T* x, T* y, int64_t length, int64_t step) {
    const T most = largest(x, length, step);
    bool found = false;
    for (int64_t i = 0; i < length; ++i) {
      const bool here = !found && x[i * step] == most;
      y[i * step] = here ? T{1} : T{0};
      found = found || here;
    }
  });
}

/// softmax_grad(y, dy): y * (dy - the sum of dy * y); log_softmax_grad(y, dy): dy - exp(y) * the
/// sum of dy.
std::vector<Spec> infer_grad(const Infer& infer) {
  need(infer, 1, infer.in(0));
  return infer_along(infer);
}

template <bool logarithm>
void forward_grad(const Call& call) {
  const AxisView v(call.x(0).shape(), axis_of(call.attrs.i("axis", -1), call.x(0).shape().rank()));
  if (v.length == 0) return;
  dispatch(Reals{}, call.x(0).dtype(), [&]<class T>() {
    parallel(v.outer * v.inner, std::max<int64_t>(1, 4096 / v.length),
             [&](int64_t begin, int64_t end) {
               for (int64_t i = begin; i < end; ++i) {
                 const int64_t at = i / v.inner * v.length * v.inner + i % v.inner;
                 const T* y = call.x(0).data<T>() + at;
                 const T* dy = call.x(1).data<T>() + at;
                 T* dx = call.y().data<T>() + at;
                 T sum = 0;
                 for (int64_t k = 0; k < v.length * v.inner; k += v.inner)
                   sum += logarithm ? dy[k] : dy[k] * y[k];
                 for (int64_t k = 0; k < v.length * v.inner; k += v.inner)
                   dx[k] = logarithm ? dy[k] - std::exp(y[k]) * sum : y[k] * (dy[k] - sum);
               }
             });
  });
}

template <Literal op>
void grad(Grad& g) {
  g.dx(0, apply(op.view(), {g.y(), g.dy()}, g.attrs));
}

template <bool logarithm>
OpDef grad_of(std::string_view name, std::string_view no_grad) {
  return {.name = name,
          .min_inputs = 2,
          .max_inputs = 2,
          .infer = infer_grad,
          .forward = widened<forward_grad<logarithm>>,
          .no_grad = no_grad,
          .in_place = {1}};
}

/// Before opset 13 the dimensions from the axis on were one, and the default axis was 1.
template <Literal op>
void onnx(ImportNode& n) {
  const Var x = n.need(0);
  if (n.version >= 13) return n.out(0, apply(op.view(), {x}, {{"axis", n.attrs.i("axis", -1)}}));
  const int64_t axis = n.attrs.i("axis", 1);
  if (axis == -1) return n.out(0, apply(op.view(), {x}, {{"axis", axis}}));
  const Var flat = apply("flatten", {x}, {{"axis", axis}});
  const Var y = apply(op.view(), {flat}, {{"axis", int64_t{1}}});
  n.out(0, apply("reshape", {y, apply("shape", {x})}, {{"allowzero", int64_t{1}}}));
}

template <Literal op>
void paddle(ImportNode& n) {
  n.out("Out", apply(op.view(), {n.need("X")}, {{"axis", n.attrs.i("axis", -1)}}));
}

}  // namespace

extern const OpDef softmax_op = {
    .name = "softmax",
    .infer = infer_along,
    .forward = widened<forward_softmax>,
    .grad = grad<"softmax_grad">,
    .imports = {{"onnx:Softmax", onnx<"softmax">}, {"paddle:softmax", paddle<"softmax">}}};
extern const OpDef log_softmax_op = {.name = "log_softmax",
                                     .infer = infer_along,
                                     .forward = widened<forward_log_softmax>,
                                     .grad = grad<"log_softmax_grad">,
                                     .imports = {{"onnx:LogSoftmax", onnx<"log_softmax">},
                                                 {"paddle:log_softmax", paddle<"log_softmax">}}};
extern const OpDef hardmax_op = {.name = "hardmax",
                                 .infer = infer_along,
                                 .forward = widened<forward_hardmax>,
                                 .no_grad = "it jumps from one position to another",
                                 .imports = {{"onnx:Hardmax", onnx<"hardmax">}}};

extern const std::vector<OpDef> softmax_grad_ops = {
    grad_of<false>("softmax_grad", "second derivatives of softmax are not written"),
    grad_of<true>("log_softmax_grad", "second derivatives of log_softmax are not written")};

}  // namespace hub
