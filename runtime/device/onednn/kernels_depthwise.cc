// The weight gradient of a convolution of each channel by itself, for windows of 3 x 3 and 5 x 5
// that oneDNN has no fast one for (pads that differ).
#include "runtime/device/onednn/kernels_train.h"
#include "runtime/device/onednn/vector.h"

namespace hub::onednn {
namespace {

using Wide = float __attribute__((vector_size(64), aligned(4), may_alias));
using Narrow = float __attribute__((vector_size(32), aligned(4), may_alias));

/// One block of channels of one picture: sums [k, k, block].
template <class V, int64_t k>
HUB_INLINE void plane(const WindowShape& s, const float* x, const float* dy, float* sums) {
  const auto* from = reinterpret_cast<const V*>(x);
  const auto* gradient = reinterpret_cast<const V*>(dy);
  V inner[k * k] = {};  // in registers: never indexed by a variable
  V edge[k * k] = {};
  for (int64_t i = 0; i < s.out_h; ++i) {
    const int64_t top = i * s.stride_h - s.top;
    for (int64_t j = 0; j < s.out_w; ++j) {
      const int64_t left = j * s.stride_w - s.left;
      const V g = gradient[i * s.out_w + j];
      if (top >= 0 && top + k <= s.h && left >= 0 && left + k <= s.w) {
        const V* at = from + top * s.w + left;
#pragma GCC unroll 5
        for (int64_t r = 0; r < k; ++r) {
#pragma GCC unroll 5
          for (int64_t c = 0; c < k; ++c) inner[r * k + c] += g * at[r * s.w + c];
        }
        continue;
      }
      for (int64_t r = std::max<int64_t>(0, -top); r < std::min(k, s.h - top); ++r) {
        for (int64_t c = std::max<int64_t>(0, -left); c < std::min(k, s.w - left); ++c)
          edge[r * k + c] += g * from[(top + r) * s.w + left + c];
      }
    }
  }
#pragma GCC unroll 25
  for (int64_t t = 0; t < k * k; ++t)
    *reinterpret_cast<V*>(sums + t * static_cast<int64_t>(sizeof(V) / sizeof(float))) =
        inner[t] + edge[t];
}

HUB_VECTOR void plane_16(const WindowShape& s, const float* x, const float* dy, float* sums) {
  s.kernel_h == 3 ? plane<Wide, 3>(s, x, dy, sums) : plane<Wide, 5>(s, x, dy, sums);
}
HUB_VECTOR void plane_8(const WindowShape& s, const float* x, const float* dy, float* sums) {
  s.kernel_h == 3 ? plane<Narrow, 3>(s, x, dy, sums) : plane<Narrow, 5>(s, x, dy, sums);
}

}  // namespace

void depthwise_weight_grad(const WindowShape& s, int64_t channels, const float* x, const float* dy,
                           float* dw, float* scratch) {
  const int64_t taps = s.kernel_h * s.kernel_w;
  const int64_t blocks = (channels + s.block - 1) / s.block;
  const int64_t in = s.h * s.w * s.block;
  const int64_t out = s.out_h * s.out_w * s.block;
#pragma omp parallel for if (s.planes * in >= worth_a_thread)
  for (int64_t p = 0; p < s.planes; ++p) {
    float* sums = scratch + p * taps * s.block;
    s.block == 16 ? plane_16(s, x + p * in, dy + p * out, sums)
                  : plane_8(s, x + p * in, dy + p * out, sums);
  }
  for (int64_t c = 0; c < channels; ++c) {
    for (int64_t t = 0; t < taps; ++t) {
      double sum = 0;
      for (int64_t p = c / s.block; p < s.planes; p += blocks)
        sum += scratch[(p * taps + t) * s.block + c % s.block];
      dw[c * taps + t] = static_cast<float>(sum);
    }
  }
}

}  // namespace hub::onednn
