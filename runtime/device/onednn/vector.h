// What our own CPU kernels are made of: versions of a function for each processor generation, work
// in slices over the thread team, e^x in lanes.
#pragma once

#include <omp.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

// One version a processor generation, chosen when the program is loaded.
#define HUB_VECTOR __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#define HUB_INLINE __attribute__((always_inline)) inline
// Behind the parameters of a lambda: one that is not inlined is compiled for the oldest processor.
#define HUB_INLINED __attribute__((always_inline))

namespace hub::onednn {

/// Below this many numbers a second thread costs more than it saves.
constexpr int64_t worth_a_thread = 1 << 14;

/// e^x / 2^n of numbers or of lanes of them, for the whole number n nearest to x / ln 2: a
/// polynomial on [-ln 2 / 2, ln 2 / 2] (the coefficients are those of Cephes expf).
template <class V>
HUB_INLINE V exp_rest(V x, V n) {
  const V r = (x - n * 0.693359375F) + n * 2.12194440e-4F;
  V p = r * 1.9875691500e-4F + 1.3981999507e-3F;
  p = p * r + 8.3334519073e-3F;
  p = p * r + 4.1665795894e-2F;
  p = p * r + 1.6666665459e-1F;
  p = p * r + 5.0000001201e-1F;
  return p * r * r + r + 1.0F;
}

/// e^x to two units in the last place. Below -87 the result is the smallest normal number.
HUB_INLINE float fast_exp(float x) {
  x = std::min(std::max(x, -87.0F), 88.0F);
  const float n = std::floor(x * 1.44269504F + 0.5F);
  return exp_rest(x, n) * std::bit_cast<float>((static_cast<int32_t>(n) + 127) << 23);
}

/// body(from, count) on slices of [0, total), over the team when there is enough to do.
template <class Body>
void slices(int64_t total, Body body) {
  if (total < worth_a_thread || omp_get_max_threads() == 1) {
    body(int64_t{0}, total);
    return;
  }
#pragma omp parallel
  {
    const int64_t team = omp_get_num_threads();
    const int64_t part = ((total + team - 1) / team + 63) / 64 * 64;
    const int64_t from = std::min(total, part * omp_get_thread_num());
    body(from, std::min(part, total - from));
  }
}

}  // namespace hub::onednn
