// Binary operators: operands of one shape, a number, a number a channel, and any that broadcast.
#include "runtime/device/onednn/kernels.h"
#include "runtime/device/onednn/vector.h"

namespace hub::onednn {
namespace {

#define HUB_PAIR(expression)                                \
  _Pragma("omp simd") for (int64_t i = 0; i < count; ++i) { \
    const float p = a[i];                                   \
    const float q = second(i);                              \
    y[i] = (expression);                                    \
  }                                                         \
  break

template <class Second>
HUB_INLINE void binary_loop(Binary op, bool swapped, const float* a, Second second, float* y,
                            int64_t count) {
  switch (op) {
    case Binary::add: HUB_PAIR(p + q);
    case Binary::sub: HUB_PAIR(swapped ? q - p : p - q);
    case Binary::mul: HUB_PAIR(p * q);
    case Binary::div: HUB_PAIR(swapped ? q / p : p / q);
    case Binary::max: HUB_PAIR(p != p ? p : (q > p || q != q ? q : p));
    case Binary::min: HUB_PAIR(p != p ? p : (q < p || q != q ? q : p));
  }
}
#undef HUB_PAIR

HUB_VECTOR void same_part(Binary op, const float* a, const float* b, float* y, int64_t count) {
  binary_loop(
      op, false, a, [b](int64_t i) { return b[i]; }, y, count);
}

HUB_VECTOR void scalar_part(Binary op, bool swapped, const float* a, float b, float* y,
                            int64_t count) {
  binary_loop(
      op, swapped, a, [b](int64_t) { return b; }, y, count);
}

HUB_VECTOR void channel_part(Binary op, bool swapped, const float* a, const float* b, float* y,
                             int64_t pixels, int64_t block) {
  for (int64_t p = 0; p < pixels; ++p) {
    binary_loop(
        op, swapped, a + p * block, [b](int64_t i) { return b[i]; }, y + p * block, block);
  }
}

/// Rows [from, to) of a walk whose rows are contiguous in y.
HUB_VECTOR void rows_part(Binary op, const Walk<2>& walk, const float* a, const float* b, float* y,
                          int64_t from, int64_t to) {
  const size_t outer = walk.shape.rank() - 1;
  const int64_t width = walk.shape[outer];
  const Strides& a_strides = walk.strides[0];
  const Strides& b_strides = walk.strides[1];
  std::array<int64_t, Shape::max_rank> index{};
  int64_t left = from;
  for (size_t d = outer; d-- > 0;) {
    index[d] = left % walk.shape[d];
    left /= walk.shape[d];
    a += index[d] * a_strides[d];
    b += index[d] * b_strides[d];
  }
  y += from * width;
  for (int64_t r = from; r < to; ++r, y += width) {
    if (a_strides[outer] == 0)
      binary_loop(
          op, true, b, [v = *a](int64_t) HUB_INLINED { return v; }, y, width);
    else if (b_strides[outer] == 0)
      binary_loop(
          op, false, a, [v = *b](int64_t) HUB_INLINED { return v; }, y, width);
    else
      binary_loop(
          op, false, a, [b](int64_t i) HUB_INLINED { return b[i]; }, y, width);
    for (size_t d = outer; d-- > 0;) {
      a += a_strides[d];
      b += b_strides[d];
      if (++index[d] < walk.shape[d]) break;
      a -= a_strides[d] * walk.shape[d];
      b -= b_strides[d] * walk.shape[d];
      index[d] = 0;
    }
  }
}

}  // namespace

void binary_same(Binary op, const float* a, const float* b, float* y, int64_t count) {
  slices(count, [&](int64_t from, int64_t n) { same_part(op, a + from, b + from, y + from, n); });
}

void binary_scalar(Binary op, const float* a, float b, bool swapped, float* y, int64_t count) {
  slices(count,
         [&](int64_t from, int64_t n) { scalar_part(op, swapped, a + from, b, y + from, n); });
}

void binary_channel(Binary op, const float* a, const float* b, bool swapped, float* y,
                    int64_t groups, int64_t pixels, int64_t block) {
  const int64_t size = pixels * block;
#pragma omp parallel for if (groups * size >= worth_a_thread)
  for (int64_t g = 0; g < groups; ++g) {
    if (block == 1) {
      scalar_part(op, swapped, a + g * size, b[g], y + g * size, size);
    } else {
      channel_part(op, swapped, a + g * size, b + g * block, y + g * size, pixels, block);
    }
  }
}

void binary_rows(Binary op, const Walk<2>& walk, const float* a, const float* b, float* y) {
  const int64_t width = walk.shape.back();
  parallel(walk.shape.numel() / width, std::max<int64_t>(1, worth_a_thread / width),
           [&](int64_t from, int64_t to) { rows_part(op, walk, a, b, y, from, to); });
}

}  // namespace hub::onednn
