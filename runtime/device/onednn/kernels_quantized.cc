#include "runtime/device/onednn/kernels_quantized.h"

#include <limits>

#include "runtime/device/onednn/vector.h"

namespace hub::onednn {
namespace {

/// round(v) as an integer between two others, halves to even; the bounds first, so that the
/// conversion cannot overflow.
HUB_INLINE int rounded(float v, float low, float high) {
  return static_cast<int>(std::nearbyint(std::min(std::max(v, low), high)));
}

template <class T>
HUB_INLINE void quantize_loop(const float* x, T* y, int64_t count, Steps to) {
  const auto low = static_cast<float>(std::numeric_limits<T>::min() - to.zero);
  const auto high = static_cast<float>(std::numeric_limits<T>::max() - to.zero);
  // A byte may be anything: only a word from us says that y does not overlap what comes.
#pragma omp simd
  for (int64_t i = 0; i < count; ++i)
    y[i] = static_cast<T>(rounded(x[i] / to.scale, low, high) + to.zero);
}
template <class T>
HUB_INLINE void dequantize_loop(const T* x, float* y, int64_t count, Steps from) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i)
    y[i] = static_cast<float>(static_cast<int>(x[i]) - from.zero) * from.scale;
}
template <class T>
HUB_INLINE void add_loop(const T* a, Steps sa, const T* b, Steps sb, T* y, Steps sy, int least,
                         int most, int64_t count) {
  const auto low = static_cast<float>(least), high = static_cast<float>(most);
  const float ra = sa.scale / sy.scale, rb = sb.scale / sy.scale;
  const float shift = static_cast<float>(sy.zero) - ra * static_cast<float>(sa.zero) -
                      rb * static_cast<float>(sb.zero);
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) {
    const float v = static_cast<float>(a[i]) * ra + (static_cast<float>(b[i]) * rb + shift);
    y[i] = static_cast<T>(rounded(v, low, high));
  }
}

// Clones for processors are made of functions that are no templates. Bytes in registers of 64 need
// more than avx512f.
#define HUB_BYTES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
HUB_BYTES void quantize_run(const float* x, uint8_t* y, int64_t n, Steps to) {
  quantize_loop(x, y, n, to);
}
HUB_BYTES void quantize_run(const float* x, int8_t* y, int64_t n, Steps to) {
  quantize_loop(x, y, n, to);
}
HUB_BYTES void dequantize_run(const uint8_t* x, float* y, int64_t n, Steps from) {
  dequantize_loop(x, y, n, from);
}
HUB_BYTES void dequantize_run(const int8_t* x, float* y, int64_t n, Steps from) {
  dequantize_loop(x, y, n, from);
}
HUB_BYTES void add_run(const uint8_t* a, Steps sa, const uint8_t* b, Steps sb, uint8_t* y, Steps sy,
                       int low, int high, int64_t n) {
  add_loop(a, sa, b, sb, y, sy, low, high, n);
}
HUB_BYTES void add_run(const int8_t* a, Steps sa, const int8_t* b, Steps sb, int8_t* y, Steps sy,
                       int low, int high, int64_t n) {
  add_loop(a, sa, b, sb, y, sy, low, high, n);
}

/// One block of channels: floats lie [pixels, block], integers `stride` apart, `here` of each
/// count.
struct Block {
  int64_t pixels, block, stride, here;
};
/// The channels of a pixel in registers: loops so short are not turned into such by themselves.
struct Eight {
  static constexpr int64_t width = 8;
  using Float = float __attribute__((vector_size(32), aligned(4), may_alias));
  using Int = int32_t __attribute__((vector_size(32)));
  using Byte = uint8_t __attribute__((vector_size(8), aligned(1), may_alias));
};
struct Sixteen {
  static constexpr int64_t width = 16;
  using Float = float __attribute__((vector_size(64), aligned(4), may_alias));
  using Int = int32_t __attribute__((vector_size(64)));
  using Byte = uint8_t __attribute__((vector_size(16), aligned(1), may_alias));
};
template <class V, class T>
HUB_INLINE void quantize_wide(const float* x, T* y, const Block& b, Steps to) {
  using Float = typename V::Float;
  using Int = typename V::Int;
  using Byte = typename V::Byte;
  const Float low = Float{} + static_cast<float>(std::numeric_limits<T>::min() - to.zero);
  const Float high = Float{} + static_cast<float>(std::numeric_limits<T>::max() - to.zero);
  constexpr float whole = 12582912.0F;  // 1.5 * 2^23: what is added to it loses its fraction
  for (int64_t p = 0; p < b.pixels; ++p) {
    Float v = *reinterpret_cast<const Float*>(x + p * b.block) / to.scale;
    v = v > low ? v : low;
    v = v < high ? v : high;
    v = (v + whole) - whole;
    *reinterpret_cast<Byte*>(y + p * b.stride) =
        __builtin_convertvector(__builtin_convertvector(v, Int) + to.zero, Byte);
  }
}
template <class V, class T>
HUB_INLINE void dequantize_wide(const T* x, float* y, const Block& b, Steps from) {
  using Float = typename V::Float;
  using Int = typename V::Int;
  using Byte = typename V::Byte;
  for (int64_t p = 0; p < b.pixels; ++p) {
    Int q = __builtin_convertvector(*reinterpret_cast<const Byte*>(x + p * b.stride), Int);
    if constexpr (std::is_signed_v<T>) q = (q ^ 128) - 128;
    const Int steps = q - from.zero;
    *reinterpret_cast<Float*>(y + p * b.block) = __builtin_convertvector(steps, Float) * from.scale;
  }
}
template <class T>
HUB_INLINE void quantize_pixels(const float* x, T* y, const Block& b, Steps to) {
  if (b.here == Sixteen::width) return quantize_wide<Sixteen>(x, y, b, to);
  if (b.here == Eight::width) return quantize_wide<Eight>(x, y, b, to);
  for (int64_t p = 0; p < b.pixels; ++p)
    quantize_loop(x + p * b.block, y + p * b.stride, b.here, to);
}
template <class T>
HUB_INLINE void dequantize_pixels(const T* x, float* y, const Block& b, Steps from) {
  if (b.here == Sixteen::width) return dequantize_wide<Sixteen>(x, y, b, from);
  if (b.here == Eight::width) return dequantize_wide<Eight>(x, y, b, from);
  for (int64_t p = 0; p < b.pixels; ++p)
    dequantize_loop(x + p * b.stride, y + p * b.block, b.here, from);
}
HUB_BYTES void quantize_block(const float* x, uint8_t* y, const Block& b, Steps to) {
  quantize_pixels(x, y, b, to);
}
HUB_BYTES void quantize_block(const float* x, int8_t* y, const Block& b, Steps to) {
  quantize_pixels(x, y, b, to);
}
HUB_BYTES void dequantize_block(const uint8_t* x, float* y, const Block& b, Steps from) {
  dequantize_pixels(x, y, b, from);
}
HUB_BYTES void dequantize_block(const int8_t* x, float* y, const Block& b, Steps from) {
  dequantize_pixels(x, y, b, from);
}

/// visit(first float, first integer, block) for each block of channels.
template <class Visit>
void blocks(const Channels& s, Visit visit) {
  const int64_t groups = (s.channels + s.block - 1) / s.block;
#pragma omp parallel for collapse(2) if (s.images * s.channels * s.pixels > worth_a_thread)
  for (int64_t n = 0; n < s.images; ++n) {
    for (int64_t g = 0; g < groups; ++g) {
      visit((n * groups + g) * s.pixels * s.block, n * s.pixels * s.channels + g * s.block,
            Block{s.pixels, s.block, s.channels, std::min(s.block, s.channels - g * s.block)});
    }
  }
}

}  // namespace

template <class T>
void quantize(const float* x, T* y, int64_t count, Steps to) {
  slices(count, [=](int64_t from, int64_t n) { quantize_run(x + from, y + from, n, to); });
}
template <class T>
void dequantize(const T* x, float* y, int64_t count, Steps steps) {
  slices(count, [=](int64_t from, int64_t n) { dequantize_run(x + from, y + from, n, steps); });
}
template <class T>
void quantize_image(const float* x, T* y, const Channels& shape, Steps to) {
  blocks(shape, [=](int64_t at, int64_t small, const Block& b) {
    quantize_block(x + at, y + small, b, to);
  });
}
template <class T>
void dequantize_image(const T* x, float* y, const Channels& shape, Steps from) {
  blocks(shape, [=](int64_t at, int64_t small, const Block& b) {
    if (b.here < b.block) std::fill_n(y + at, b.pixels * b.block, 0.0F);
    dequantize_block(x + small, y + at, b, from);
  });
}
template <class T>
void add_quantized(const T* a, Steps sa, const T* b, Steps sb, T* y, Steps sy, int low, int high,
                   int64_t count) {
  slices(count, [=](int64_t from, int64_t n) {
    add_run(a + from, sa, b + from, sb, y + from, sy, low, high, n);
  });
}

template void quantize(const float*, uint8_t*, int64_t, Steps);
template void quantize(const float*, int8_t*, int64_t, Steps);
template void dequantize(const uint8_t*, float*, int64_t, Steps);
template void dequantize(const int8_t*, float*, int64_t, Steps);
template void quantize_image(const float*, uint8_t*, const Channels&, Steps);
template void quantize_image(const float*, int8_t*, const Channels&, Steps);
template void dequantize_image(const uint8_t*, float*, const Channels&, Steps);
template void dequantize_image(const int8_t*, float*, const Channels&, Steps);
template void add_quantized(const uint8_t*, Steps, const uint8_t*, Steps, uint8_t*, Steps, int, int,
                            int64_t);
template void add_quantized(const int8_t*, Steps, const int8_t*, Steps, int8_t*, Steps, int, int,
                            int64_t);

}  // namespace hub::onednn
