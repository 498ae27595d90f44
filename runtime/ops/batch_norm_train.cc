// Batch normalisation by the statistics of the batch itself; x is [N, C, …], all the others [C].
//   batch_norm_train(x, scale, bias, mean, var) epsilon, momentum (the part of the running values
//   that is kept, 0.9) -> y, batch_mean, inv_std, new_mean, new_var
//   batch_norm_grad(x, dy, scale, batch_mean, inv_std) -> dx, dscale, dbias
// The variance that normalises is divided by n, the one that goes into the running value by n - 1,
// as torch has it. The statistics are not differentiated.
#include <cmath>

#include "runtime/ops/grad.h"
#include "runtime/ops/nn.h"

namespace hub {
namespace {

/// x [N, C, …] and the inputs from `first` on, each [C] and all of one type, which is given back.
Spec by_channel(const Infer& infer, size_t first) {
  const Spec& x = real_input(infer, 0, 2);
  const DType type = real_input(infer, first, 1, 1).dtype;
  if (type != x.dtype && type != DType::f32)
    fail(Code::unsupported, "input ", first, " is ", infer.in(first).str());
  const Spec channels{type, {x.shape[1]}};
  for (size_t i = first; i < infer.size(); ++i) want(infer, i, channels);
  return channels;
}

std::vector<Spec> infer_train(const Infer& infer) {
  const Spec c = by_channel(infer, 1);
  const double keep = infer.attrs.f("momentum", 0.9);
  if (!(keep >= 0 && keep <= 1)) fail(Code::refused, "'momentum' is ", keep);
  if (infer.in(0).shape.numel() == 0)
    fail(Code::refused, "statistics of an empty batch, ", infer.in(0).str());
  return {infer.in(0), c, c, c, c};
}

/// each(row) for every run of `inner` numbers of channel c.
template <class T, class Each>
void each_run(const AxisView& v, int64_t c, T* data, Each each) {
  for (int64_t n = 0; n < v.outer; ++n) each(data + (n * v.length + c) * v.inner);
}

template <class T>
void train(const Call& call, const AxisView& v) {
  const double epsilon = call.attrs.f("epsilon", 1e-5);
  const double keep = call.attrs.f("momentum", 0.9);
  const auto count = static_cast<double>(v.outer * v.inner);
  const auto scale = to_doubles(call.x(1)), bias = to_doubles(call.x(2));
  const auto mean = to_doubles(call.x(3)), variance = to_doubles(call.x(4));
  parallel(v.length, 1, [&](int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; ++c) {
      const auto at = static_cast<size_t>(c);
      double sum = 0, squares = 0;
      each_run(v, c, call.x(0).data<T>(), [&](const T* x) {
        for (int64_t i = 0; i < v.inner; ++i) sum += x[i];
      });
      const double m = sum / count;
      each_run(v, c, call.x(0).data<T>(), [&](const T* x) {
        for (int64_t i = 0; i < v.inner; ++i) squares += (x[i] - m) * (x[i] - m);
      });
      const double inv_std = 1 / std::sqrt(squares / count + epsilon);
      if (call.wants(0)) {
        const double a = scale[at] * inv_std;
        for (int64_t n = 0; n < v.outer; ++n) {
          const T* x = call.x(0).data<T>() + (n * v.length + c) * v.inner;
          T* y = call.y().data<T>() + (n * v.length + c) * v.inner;
          for (int64_t i = 0; i < v.inner; ++i) y[i] = static_cast<T>((x[i] - m) * a + bias[at]);
        }
      }
      const double values[] = {
          m, inv_std, keep * mean[at] + (1 - keep) * m,
          keep * variance[at] + (1 - keep) * squares / std::max(count - 1, 1.0)};
      for (size_t k = 0; k < 4; ++k)
        if (call.wants(k + 1)) set(call.y(k + 1), c, values[k]);
    }
  });
}

void forward_train(const Call& call) {
  const AxisView v(call.x(0).shape(), 1);
  dispatch(Reals{}, call.x(0).dtype(), [&]<class T>() { train<T>(call, v); });
}

void grad_train(Grad& g) {
  if (!g.dy()) return;
  const Vars d =
      apply(*find_op("batch_norm_grad"), {g.x(0), g.dy(), g.x(1), g.y(1), g.y(2)}, {}, 3);
  for (size_t i = 0; i < 3; ++i) g.dx(i, d[i]);
}

std::vector<Spec> infer_grad(const Infer& infer) {
  need(infer, 1, infer.in(0));
  const Spec c = by_channel(infer, 2);
  return {infer.in(0), c, c};
}

/// dx = scale * inv_std * (dy - mean of dy - normalised x * mean of (dy * normalised x)).
template <class T>
void grad(const Call& call, const AxisView& v) {
  const auto count = static_cast<double>(v.outer * v.inner);
  const auto scale = to_doubles(call.x(2)), mean = to_doubles(call.x(3)),
             inv_std = to_doubles(call.x(4));
  parallel(v.length, 1, [&](int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; ++c) {
      const auto at = static_cast<size_t>(c);
      double sum = 0, products = 0;
      for (int64_t n = 0; n < v.outer; ++n) {
        const T* x = call.x(0).data<T>() + (n * v.length + c) * v.inner;
        const T* dy = call.x(1).data<T>() + (n * v.length + c) * v.inner;
        for (int64_t i = 0; i < v.inner; ++i) {
          sum += dy[i];
          products += dy[i] * (x[i] - mean[at]);
        }
      }
      products *= inv_std[at];
      for (int64_t n = 0; call.wants(0) && n < v.outer; ++n) {
        const T* x = call.x(0).data<T>() + (n * v.length + c) * v.inner;
        const T* dy = call.x(1).data<T>() + (n * v.length + c) * v.inner;
        T* dx = call.y().data<T>() + (n * v.length + c) * v.inner;
        for (int64_t i = 0; i < v.inner; ++i) {
          const double normal = (x[i] - mean[at]) * inv_std[at];
          dx[i] = static_cast<T>(scale[at] * inv_std[at] *
                                 (dy[i] - sum / count - normal * products / count));
        }
      }
      if (call.wants(1)) set(call.y(1), c, products);
      if (call.wants(2)) set(call.y(2), c, sum);
    }
  });
}

void forward_grad(const Call& call) {
  const AxisView v(call.x(0).shape(), 1);
  dispatch(Reals{}, call.x(0).dtype(), [&]<class T>() { grad<T>(call, v); });
}

}  // namespace

extern const std::vector<OpDef> batch_norm_train_ops = {
    {.name = "batch_norm_train",
     .min_inputs = 5,
     .max_inputs = 5,
     .outputs = 5,
     .infer = infer_train,
     .forward = widened<forward_train>,
     .grad = grad_train,
     .settings = 0b11000},
    {.name = "batch_norm_grad",
     .min_inputs = 5,
     .max_inputs = 5,
     .outputs = 3,
     .infer = infer_grad,
     .forward = widened<forward_grad>,
     .no_grad = "second derivatives of batch_norm_train are not written"}};

}  // namespace hub
