#include "runtime/ops/quantized.h"

#include "runtime/ops/nn.h"
#include "runtime/ops/post.h"

namespace hub {

using namespace quantized;

void check_zero(const Infer& infer, size_t zero, size_t of, int64_t many) {
  if (!infer.has(zero)) return;
  check_same_type(infer, of, zero);
  const int64_t count = infer.in(zero).shape.numel();
  if (count != 1 && count != many)
    fail(Code::refused, "a zero point of ", count, " numbers for ", many, " channels");
}

std::vector<Spec> infer_quantized(const Infer& infer, const Shape& sums, int64_t channels) {
  auto scale = [&](size_t i, int64_t many) {
    check_type(infer, i, Types<float>{});
    const int64_t count = infer.in(i).shape.numel();
    if (count != 1 && count != many)
      fail(Code::refused, "a scale of ", count, " numbers for ", many, " channels");
  };
  scale(x_scale, 1);
  scale(w_scale, channels);
  check_zero(infer, x_zero, x, 1);
  check_zero(infer, w_zero, w, channels);
  want(infer, bias, {DType::i32, {channels}});
  check_post(infer.attrs, {DType::f32, sums}, false);
  if (!infer.has(y_scale)) return {{DType::f32, sums}};
  scale(y_scale, 1);
  if (!infer.has(y_zero)) return {{DType::u8, sums}};
  check_type(infer, y_zero, Bytes{});
  if (infer.in(y_zero).shape.numel() != 1)
    fail(Code::refused, "the zero point of the result is ", infer.in(y_zero).str());
  return {{infer.in(y_zero).dtype, sums}};
}

Tensor without_zero(const Tensor& v, const Tensor* zero, size_t axis) {
  Tensor out(DType::i32, v.shape());
  dispatch(Bytes{}, v.dtype(), [&]<class T>() {
    const T* from = v.data<T>();
    int32_t* to = out.data<int32_t>();
    const AxisView view(v.shape(), axis);
    const int64_t zeros = zero == nullptr ? 0 : zero->numel();
    for (int64_t i = 0; i < v.numel(); ++i) {
      const int64_t k = zeros > 1 ? i / view.inner % view.length : 0;
      to[i] = static_cast<int32_t>(from[i]) - (zeros == 0 ? 0 : zero->data<T>()[k]);
    }
  });
  return out;
}

void finish_quantized(const Call& call, const Tensor& sums, size_t axis) {
  const float in_scale = *call.x(x_scale).data<float>();
  const auto weight_scales = call.x(w_scale).values<float>();
  const bool rounds = call.has(y_scale);
  const float out_scale = rounds ? *call.x(y_scale).data<float>() : 1.0F;
  const bool posts = call.attrs.has("post");
  const AxisView view(sums.shape(), axis);
  const int32_t* from = sums.data<int32_t>();
  Tensor real(DType::f32, posts || !rounds ? sums.shape() : Shape{0});
  auto scaled = [&](float unit, auto write) {
    for (int64_t i = 0; i < sums.numel(); ++i) {
      const auto k =
          static_cast<size_t>(weight_scales.size() > 1 ? i / view.inner % view.length : 0);
      write(i, static_cast<float>(from[i]) * (in_scale * weight_scales[k] / unit));
    }
  };
  if (posts || !rounds) {
    scaled(1.0F, [&](int64_t i, float v) { real.data<float>()[i] = v; });
    apply_posts(call.attrs, real, nullptr);
  }
  if (!rounds) {
    std::copy_n(real.data<float>(), real.numel(), call.y().data<float>());
    return;
  }
  dispatch(Bytes{}, call.y().dtype(), [&]<class T>() {
    using Limits = std::numeric_limits<T>;
    const float zero = call.has(y_zero) ? *call.x(y_zero).data<T>() : 0;
    T* y = call.y().data<T>();
    auto round = [&](int64_t i, float steps) {
      const float v = std::nearbyint(steps) + zero;
      y[i] =
          std::isnan(v) ? T{0} : static_cast<T>(std::clamp<float>(v, Limits::min(), Limits::max()));
    };
    if (!posts) return scaled(out_scale, round);
    for (int64_t i = 0; i < real.numel(); ++i) round(i, real.data<float>()[i] / out_scale);
  });
}

}  // namespace hub
