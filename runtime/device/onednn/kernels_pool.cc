// Gradients of pools over pictures in blocks of channels.
#include "runtime/device/onednn/kernels_train.h"
#include "runtime/device/onednn/vector.h"

namespace hub::onednn {
namespace {

using Wide = float __attribute__((vector_size(64), aligned(4), may_alias));
using Narrow = float __attribute__((vector_size(32), aligned(4), may_alias));

/// The taps of one window that lie inside the picture.
struct Span {
  int64_t first, count;
};
Span inside(int64_t start, int64_t kernel, int64_t dilation, int64_t length) {
  const int64_t first = start < 0 ? (-start + dilation - 1) / dilation : 0;
  const int64_t last = start < length ? std::min(kernel, (length - 1 - start) / dilation + 1) : 0;
  return {first, std::max<int64_t>(last - first, 0)};
}

/// visit(out pixel, tap rows, tap columns) for the windows of a plane; then each(pixel) walks one.
template <class Visit>
HUB_INLINE void windows(const WindowShape& s, Visit visit) {
  for (int64_t i = 0; i < s.out_h; ++i) {
    const int64_t y = i * s.stride_h - s.top;
    const Span rows = inside(y, s.kernel_h, s.dilation_h, s.h);
    for (int64_t j = 0; j < s.out_w; ++j) {
      const int64_t x = j * s.stride_w - s.left;
      const Span columns = inside(x, s.kernel_w, s.dilation_w, s.w);
      visit(
          i * s.out_w + j,
          [&](auto each) HUB_INLINED {
            for (int64_t r = rows.first; r < rows.first + rows.count; ++r) {
              const int64_t row = (y + r * s.dilation_h) * s.w + x;
              for (int64_t c = columns.first; c < columns.first + columns.count; ++c)
                each(row + c * s.dilation_w);
            }
          },
          rows.count * columns.count);
    }
  }
}

template <class V>
HUB_INLINE void max_plane(const WindowShape& s, const float* x, const float* dy, float* dx) {
  constexpr int64_t lanes = sizeof(V) / sizeof(float);
  const auto* from = reinterpret_cast<const V*>(x);
  const auto* gradient = reinterpret_cast<const V*>(dy);
  auto* to = reinterpret_cast<V*>(dx);
  std::fill_n(dx, s.h * s.w * lanes, 0.0F);
  windows(s, [&](int64_t out, auto taps, int64_t) HUB_INLINED {
    V top = V{} - INFINITY;
    taps([&](int64_t p) HUB_INLINED { top = from[p] > top ? V(from[p]) : top; });
    V left = gradient[out];
    taps([&](int64_t p) HUB_INLINED {
      const auto here = from[p] == top;
      to[p] += here ? left : V{};
      left = here ? V{} : left;
    });
  });
}

template <class V>
HUB_INLINE void average_plane(const WindowShape& s, bool padding, const float* dy, float* dx) {
  constexpr int64_t lanes = sizeof(V) / sizeof(float);
  const auto* gradient = reinterpret_cast<const V*>(dy);
  auto* to = reinterpret_cast<V*>(dx);
  std::fill_n(dx, s.h * s.w * lanes, 0.0F);
  windows(s, [&](int64_t out, auto taps, int64_t count) HUB_INLINED {
    const auto divisor = static_cast<float>(padding ? s.kernel_h * s.kernel_w : count);
    const V part = gradient[out] / divisor;
    taps([&](int64_t p) HUB_INLINED { to[p] += part; });
  });
}

HUB_VECTOR void max_plane_16(const WindowShape& s, const float* x, const float* dy, float* dx) {
  max_plane<Wide>(s, x, dy, dx);
}
HUB_VECTOR void max_plane_8(const WindowShape& s, const float* x, const float* dy, float* dx) {
  max_plane<Narrow>(s, x, dy, dx);
}
HUB_VECTOR void average_plane_16(const WindowShape& s, bool padding, const float* dy, float* dx) {
  average_plane<Wide>(s, padding, dy, dx);
}
HUB_VECTOR void average_plane_8(const WindowShape& s, bool padding, const float* dy, float* dx) {
  average_plane<Narrow>(s, padding, dy, dx);
}

}  // namespace

void max_pool_grad(const WindowShape& s, const float* x, const float* dy, float* dx) {
  const int64_t in = s.h * s.w * s.block;
  const int64_t out = s.out_h * s.out_w * s.block;
#pragma omp parallel for if (s.planes * in >= worth_a_thread)
  for (int64_t p = 0; p < s.planes; ++p) {
    s.block == 16 ? max_plane_16(s, x + p * in, dy + p * out, dx + p * in)
                  : max_plane_8(s, x + p * in, dy + p * out, dx + p * in);
  }
}

void average_pool_grad(const WindowShape& s, bool padding, const float* dy, float* dx) {
  const int64_t in = s.h * s.w * s.block;
  const int64_t out = s.out_h * s.out_w * s.block;
#pragma omp parallel for if (s.planes * in >= worth_a_thread)
  for (int64_t p = 0; p < s.planes; ++p) {
    s.block == 16 ? average_plane_16(s, padding, dy + p * out, dx + p * in)
                  : average_plane_8(s, padding, dy + p * out, dx + p * in);
  }
}

}  // namespace hub::onednn
