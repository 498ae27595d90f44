// layer_norm_grad(x, dy, scale?, bias?) axis, epsilon -> dx, dscale, dbias: the gradient of
// layer_norm's first output. Mean and deviation are computed again; of bias only the shape matters.
#include <cmath>

#include "runtime/ops/nn.h"

namespace hub {
namespace {

std::vector<Spec> infer_grad(const Infer& infer) {
  const Spec& x = real_input(infer, 0, 1);
  axis_of(infer.attrs.i("axis", -1), x.shape.rank());
  need(infer, 1, x);
  std::vector<Spec> out{x};
  for (size_t i = 2; i <= 3; ++i) {
    out.push_back(infer.has(i) ? infer.in(i) : Spec{x.dtype, {}});
    const Spec& s = out.back();
    if (s.dtype != x.dtype || !(broadcast(x.shape, s.shape) == x.shape))
      fail(Code::refused, "input ", i, " is ", s.str(), " for ", x.str());
  }
  return out;
}

template <class T>
void layer_norm_grad(const Call& call) {
  const Shape& shape = call.x(0).shape();
  const size_t axis = axis_of(call.attrs.i("axis", -1), shape.rank());
  const int64_t rows = shape.numel(0, axis);
  const int64_t length = shape.numel(axis, shape.rank());
  const auto count = static_cast<double>(length);
  const double epsilon = call.attrs.f("epsilon", 1e-5);
  const Tensor& dy = call.x(1);
  Tensor scaled = dy;  // dy * scale
  if (call.has(2)) {
    const Tensor* in[] = {&dy, &call.x(2)};
    scaled = run_reference(*find_op("mul"), {}, in)[0];
  }
  Tensor products(dy.dtype(), shape);  // dy * normalised x
  parallel(rows, 16, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const T* x = call.x(0).data<T>() + r * length;
      const T* g = scaled.data<T>() + r * length;
      double mean = 0, squares = 0, sum = 0, sum_products = 0;
      for (int64_t i = 0; i < length; ++i) mean += x[i];
      mean /= count;
      for (int64_t i = 0; i < length; ++i) squares += (x[i] - mean) * (x[i] - mean);
      const double inv_std = 1 / std::sqrt(squares / count + epsilon);
      for (int64_t i = 0; i < length; ++i) {
        const double normal = (x[i] - mean) * inv_std;
        sum += g[i];
        sum_products += g[i] * normal;
        products.data<T>()[r * length + i] = static_cast<T>(dy.data<T>()[r * length + i] * normal);
      }
      for (int64_t i = 0; call.wants(0) && i < length; ++i) {
        const double normal = (x[i] - mean) * inv_std;
        call.y().data<T>()[r * length + i] =
            static_cast<T>(inv_std * (g[i] - sum / count - normal * sum_products / count));
      }
    }
  });
  for (size_t output = 1; output <= 2; ++output) {
    if (!call.wants(output)) continue;
    const Tensor* in[] = {output == 1 ? &products : &dy, &call.y(output)};
    const Tensor sum = run_reference(*find_op("sum_to"), {}, in)[0];
    std::copy_n(sum.data<T>(), sum.numel(), call.y(output).data<T>());
  }
}

void forward_grad(const Call& call) {
  dispatch(Reals{}, call.x(0).dtype(), [&]<class T>() { layer_norm_grad<T>(call); });
}

}  // namespace

extern const OpDef layer_norm_grad_op = {
    .name = "layer_norm_grad",
    .min_inputs = 2,
    .max_inputs = 4,
    .outputs = 3,
    .spec_only = 0b1000,
    .infer = infer_grad,
    .forward = widened<forward_grad>,
    .no_grad = "second derivatives of layer_norm are not written",
    .settings = 0b1000};

}  // namespace hub
