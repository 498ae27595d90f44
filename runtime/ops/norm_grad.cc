// Gradients of the normalisations of pictures, with the attributes of the call they belong to:
//   group_norm_grad(x, dy, scale?) groups (absent: one a channel, instance_norm), epsilon -> dx,
//   dscale, dbias                                of the size of scale, [C] without one
//   lrn_grad(x, dy) size, alpha, beta, bias -> dx
//   channel_sums(x) -> [C]                       the sum over all but dimension 1
#include <cmath>

#include "runtime/ops/grad.h"
#include "runtime/ops/nn.h"

namespace hub {
namespace {

int64_t groups_of(const Attrs& attrs, const Shape& x) { return attrs.i("groups", x[1]); }

std::vector<Spec> infer_group(const Infer& infer) {
  const Spec& x = real_input(infer, 0, 2);
  need(infer, 1, x);
  const int64_t groups = groups_of(infer.attrs, x.shape);
  if (groups < 1 || x.shape[1] % groups != 0)
    fail(Code::refused, groups, " groups of ", x.shape[1], " channels");
  Spec s{x.dtype, {x.shape[1]}};
  if (infer.has(2)) s = real_input(infer, 2, 1, 1);
  if (s.shape[0] < 1 || x.shape[1] % s.shape[0] != 0)
    fail(Code::refused, "input 2 is ", s.str(), " for ", x.shape[1], " channels");
  return {x, s, s};
}

template <class T>
void group_grad(const Call& call) {
  const double epsilon = call.attrs.f("epsilon", 1e-5);
  const AxisView v(call.x(0).shape(), 1);
  const int64_t groups = groups_of(call.attrs, call.x(0).shape());
  const int64_t channels = v.length / groups;
  const int64_t run = channels * v.inner;
  const auto count = static_cast<double>(run);
  const auto scale = call.has(2) ? to_doubles(call.x(2)) : std::vector<double>(1, 1.0);
  const int64_t share = v.length / static_cast<int64_t>(scale.size());  // channels a scale
  // Of each picture and channel: the sums of dy and of dy * normalised x.
  std::vector<double> sums(static_cast<size_t>(v.outer * v.length)), products(sums.size());
  parallel(v.outer * groups, 1, [&](int64_t begin, int64_t end) {
    for (int64_t piece = begin; piece < end; ++piece) {
      const T* x = call.x(0).data<T>() + piece * run;
      const T* dy = call.x(1).data<T>() + piece * run;
      double mean = 0, squares = 0;
      for (int64_t i = 0; i < run; ++i) mean += x[i] / count;
      for (int64_t i = 0; i < run; ++i) squares += (x[i] - mean) * (x[i] - mean);
      const double inv_std = 1 / std::sqrt(squares / count + epsilon);
      const int64_t first = piece % groups * channels;
      double all = 0, all_products = 0;  // of dy * scale
      for (int64_t c = 0; c < channels; ++c) {
        double sum = 0, product = 0;
        for (int64_t i = c * v.inner; i < (c + 1) * v.inner; ++i) {
          sum += dy[i];
          product += dy[i] * (x[i] - mean) * inv_std;
        }
        const auto at = static_cast<size_t>(piece * channels + c);
        sums[at] = sum;
        products[at] = product;
        const double by = scale[static_cast<size_t>((first + c) / share)];
        all += sum * by;
        all_products += product * by;
      }
      T* dx = call.wants(0) ? call.y().data<T>() + piece * run : nullptr;
      for (int64_t i = 0; dx != nullptr && i < run; ++i) {
        const double by = scale[static_cast<size_t>((first + i / v.inner) / share)];
        const double normal = (x[i] - mean) * inv_std;
        dx[i] =
            static_cast<T>(inv_std * (dy[i] * by - all / count - normal * all_products / count));
      }
    }
  });
  for (size_t output = 1; output <= 2; ++output) {
    if (!call.wants(output)) continue;
    const auto& parts = output == 1 ? products : sums;
    const int64_t each = v.length / call.y(output).numel();
    std::vector<double> totals(static_cast<size_t>(call.y(output).numel()));
    for (int64_t i = 0; i < v.outer * v.length; ++i)
      totals[static_cast<size_t>(i % v.length / each)] += parts[static_cast<size_t>(i)];
    for (size_t i = 0; i < totals.size(); ++i)
      set(call.y(output), static_cast<int64_t>(i), totals[i]);
  }
}

void forward_group(const Call& call) {
  dispatch(Reals{}, call.x(0).dtype(), [&]<class T>() { group_grad<T>(call); });
}

std::vector<Spec> infer_lrn(const Infer& infer) {
  if (infer.attrs.i("size") < 1) fail(Code::refused, "'size' is ", infer.attrs.i("size"));
  const Spec& x = real_input(infer, 0, 2);
  need(infer, 1, x);
  return {x};
}

/// With s = bias + alpha / size * sum of squares around: dx = dy / s^beta - 2 alpha beta / size * x
/// * the sum of dy * x / s^(beta + 1) over the channels that x belongs to.
template <class T>
void lrn_grad(const Call& call) {
  const double alpha = call.attrs.f("alpha", 1e-4) / static_cast<double>(call.attrs.i("size"));
  const double beta = call.attrs.f("beta", 0.75);
  const double bias = call.attrs.f("bias", 1);
  const int64_t size = call.attrs.i("size");
  const AxisView v(call.x(0).shape(), 1);
  parallel(v.outer * v.inner, 64, [&](int64_t begin, int64_t end) {
    std::vector<double> scale(static_cast<size_t>(v.length)), part(scale.size());
    for (int64_t line = begin; line < end; ++line) {
      const int64_t at = line / v.inner * v.length * v.inner + line % v.inner;
      const T* x = call.x(0).data<T>() + at;
      const T* dy = call.x(1).data<T>() + at;
      T* dx = call.y().data<T>() + at;
      for (int64_t c = 0; c < v.length; ++c) {
        double sum = 0;
        for (int64_t k = std::max<int64_t>(0, c - (size - 1) / 2);
             k < std::min(v.length, c + size / 2 + 1); ++k)
          sum += static_cast<double>(x[k * v.inner]) * x[k * v.inner];
        const auto i = static_cast<size_t>(c);
        scale[i] = bias + alpha * sum;
        part[i] = dy[c * v.inner] * x[c * v.inner] * std::pow(scale[i], -beta - 1);
      }
      for (int64_t c = 0; c < v.length; ++c) {
        double sum = 0;
        for (int64_t k = std::max<int64_t>(0, c - size / 2);
             k < std::min(v.length, c + (size - 1) / 2 + 1); ++k)
          sum += part[static_cast<size_t>(k)];
        dx[c * v.inner] =
            static_cast<T>(dy[c * v.inner] * std::pow(scale[static_cast<size_t>(c)], -beta) -
                           2 * alpha * beta * x[c * v.inner] * sum);
      }
    }
  });
}

void forward_lrn(const Call& call) {
  dispatch(Reals{}, call.x(0).dtype(), [&]<class T>() { lrn_grad<T>(call); });
}

std::vector<Spec> infer_sums(const Infer& infer) {
  const Spec& x = real_input(infer, 0, 2);
  return {{x.dtype, {x.shape[1]}}};
}

void forward_sums(const Call& call) {
  const AxisView v(call.x(0).shape(), 1);
  dispatch(Reals{}, call.x(0).dtype(), [&]<class T>() {
    parallel(v.length, 1, [&](int64_t begin, int64_t end) {
      for (int64_t c = begin; c < end; ++c) {
        double sum = 0;
        for (int64_t n = 0; n < v.outer; ++n) {
          const T* x = call.x(0).data<T>() + (n * v.length + c) * v.inner;
          for (int64_t i = 0; i < v.inner; ++i) sum += x[i];
        }
        call.y().data<T>()[c] = static_cast<T>(sum);
      }
    });
  });
}

}  // namespace

extern const std::vector<OpDef> norm_grad_ops = {
    {.name = "group_norm_grad",
     .min_inputs = 2,
     .max_inputs = 3,
     .outputs = 3,
     .infer = infer_group,
     .forward = widened<forward_group>,
     .no_grad = "second derivatives of group_norm and instance_norm are not written"},
    {.name = "lrn_grad",
     .min_inputs = 2,
     .max_inputs = 2,
     .infer = infer_lrn,
     .forward = widened<forward_lrn>,
     .no_grad = "second derivatives of lrn are not written"},
    {.name = "channel_sums",
     .infer = infer_sums,
     .forward = widened<forward_sums>,
     .no_grad = "second derivatives of batch_norm are not written"}};

}  // namespace hub
