// What passes/fuse_train.cc makes of batch norms in a training step: the residual sum and the
// bounds (attributes low and high; a relu is 0 .. infinity) that stand behind one are part of it,
// and its result can be had again on the way back instead of being kept.
//   batch_norm_train_held(x, scale, bias, mean, var, residual?) -> as batch_norm_train
//   batch_norm_again(x, scale, bias, batch_mean, inv_std) -> y
//   batch_norm_grad_held(x, dy, scale, bias, batch_mean, inv_std) -> as batch_norm_grad, for the dy
//   of the bounded result
#include <cmath>
#include <cstring>

#include "runtime/ops/kernel.h"

namespace hub {
namespace {

using Pointers = std::vector<const Spec*>;

std::vector<Spec> infer_as(std::string_view op, const Infer& infer, std::vector<size_t> inputs) {
  Pointers in;
  for (size_t i : inputs) in.push_back(&infer.in(i));
  const std::vector<const Tensor*> values(in.size(), nullptr);
  return find_op(op)->infer(Infer(infer.attrs, in, values));
}

void check_picture(const Infer& infer, size_t i) {
  if (infer.in(i) != infer.in(0))
    fail(Code::refused, "input ", i, " is ", infer.in(i).str(), ", wanted ", infer.in(0).str());
}

std::vector<Spec> infer_train(const Infer& infer) {
  if (infer.has(5)) check_picture(infer, 5);
  return infer_as("batch_norm_train", infer, {0, 1, 2, 3, 4});
}

std::vector<Spec> infer_again(const Infer& infer) {
  return {infer_as("batch_norm_train", infer, {0, 1, 2, 3, 4})[0]};
}

std::vector<Spec> infer_grad(const Infer& infer) {
  check_picture(infer, 1);
  return infer_as("batch_norm_grad", infer, {0, 1, 2, 4, 5});
}

template <class T>
void hold(const Attrs& attrs, Tensor& y, const Tensor* residual) {
  const auto low = static_cast<T>(attrs.f("low", -INFINITY));
  const auto high = static_cast<T>(attrs.f("high", INFINITY));
  T* v = y.data<T>();
  for (int64_t i = 0; i < y.numel(); ++i) {
    if (residual != nullptr) v[i] += residual->data<T>()[i];
    v[i] = std::min(std::max(v[i], low), high);
  }
}

void forward_train(const Call& call) {
  const auto out = run_reference(*find_op("batch_norm_train"), call.attrs, call.in.subspan(0, 5));
  dispatch(Types<float, double>{}, call.x(0).dtype(), [&]<class T>() {
    Tensor y = out[0];
    hold<T>(call.attrs, y, call.has(5) ? &call.x(5) : nullptr);
  });
  for (size_t i = 0; i < out.size(); ++i) {
    if (call.wants(i)) std::memcpy(call.y(i).raw(), out[i].raw(), out[i].bytes());
  }
}

/// The norm as a line: y = (x - mean) * inv_std * scale + bias.
template <class T>
void line(const Tensor& x, const Tensor& scale, const Tensor& bias, const Tensor& mean,
          const Tensor& inv_std, T* y) {
  const AxisView v(x.shape(), 1);
  for (int64_t r = 0; r < v.outer * v.length; ++r) {
    const int64_t c = r % v.length;
    const T a = scale.data<T>()[c] * inv_std.data<T>()[c];
    for (int64_t i = r * v.inner; i < (r + 1) * v.inner; ++i)
      y[i] = (x.data<T>()[i] - mean.data<T>()[c]) * a + bias.data<T>()[c];
  }
}

void forward_again(const Call& call) {
  dispatch(Types<float, double>{}, call.x(0).dtype(), [&]<class T>() {
    line<T>(call.x(0), call.x(1), call.x(2), call.x(3), call.x(4), call.y().data<T>());
    hold<T>(call.attrs, call.y(), nullptr);
  });
}

void forward_grad(const Call& call) {
  Tensor dy = call.x(1).clone();
  dispatch(Types<float, double>{}, dy.dtype(), [&]<class T>() {
    const auto low = static_cast<T>(call.attrs.f("low", -INFINITY));
    const auto high = static_cast<T>(call.attrs.f("high", INFINITY));
    std::vector<T> y(static_cast<size_t>(dy.numel()));
    line<T>(call.x(0), call.x(2), call.x(3), call.x(4), call.x(5), y.data());
    for (size_t i = 0; i < y.size(); ++i) {
      const bool inside = y[i] > low && y[i] < high;  // nothing passes at a bound itself
      if (!inside) dy.data<T>()[i] = 0;
    }
  });
  const Tensor* in[] = {&call.x(0), &dy, &call.x(2), &call.x(4), &call.x(5)};
  const auto out = run_reference(*find_op("batch_norm_grad"), {}, in);
  for (size_t i = 0; i < out.size(); ++i) {
    if (call.wants(i)) std::memcpy(call.y(i).raw(), out[i].raw(), out[i].bytes());
  }
}

constexpr std::string_view why = "it is made behind the gradients";

}  // namespace

extern const std::vector<OpDef> batch_norm_held_ops = {{.name = "batch_norm_train_held",
                                                        .min_inputs = 5,
                                                        .max_inputs = 6,
                                                        .outputs = 5,
                                                        .infer = infer_train,
                                                        .forward = forward_train,
                                                        .no_grad = why},
                                                       {.name = "batch_norm_again",
                                                        .min_inputs = 5,
                                                        .max_inputs = 5,
                                                        .infer = infer_again,
                                                        .forward = forward_again,
                                                        .no_grad = why},
                                                       {.name = "batch_norm_grad_held",
                                                        .min_inputs = 6,
                                                        .max_inputs = 6,
                                                        .outputs = 3,
                                                        .infer = infer_grad,
                                                        .forward = forward_grad,
                                                        .no_grad = why}};

}  // namespace hub
