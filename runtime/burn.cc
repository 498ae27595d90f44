#include "runtime/burn.h"

#include <immintrin.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>

#include "runtime/session.h"

namespace hub {
namespace {

constexpr int64_t chains = 24, turns = 1 << 18;

/// Independent chains of multiply-adds, enough to hide the latency of each; kept in registers.
__attribute__((target("avx512f"))) float burn_512() {
  __m512 v[chains];
  const __m512 a = _mm512_set1_ps(0.999F), b = _mm512_set1_ps(0.001F);
  for (auto& x : v) x = b;
  for (int64_t t = 0; t < turns; ++t) {
#pragma GCC unroll 24
    for (auto& x : v) x = _mm512_fmadd_ps(x, a, b);
  }
  __m512 sum = v[0];
  for (const auto& x : v) sum = _mm512_add_ps(sum, x);
  return _mm512_cvtss_f32(sum);
}

__attribute__((target("avx2,fma"))) float burn_256() {
  __m256 v[chains / 2];
  const __m256 a = _mm256_set1_ps(0.999F), b = _mm256_set1_ps(0.001F);
  for (auto& x : v) x = b;
  for (int64_t t = 0; t < 4 * turns; ++t) {
#pragma GCC unroll 12
    for (auto& x : v) x = _mm256_fmadd_ps(x, a, b);
  }
  __m256 sum = v[0];
  for (const auto& x : v) sum = _mm256_add_ps(sum, x);
  return _mm256_cvtss_f32(sum);
}

}  // namespace

double burn() {
  const bool wide = __builtin_cpu_supports("avx512f") != 0;
#pragma omp parallel
  {
    static std::atomic<float> kept;
    kept = wide ? burn_512() : burn_256();
  }
  return 2.0 * 16 * chains * turns * threads();
}

double peak_flops() {
  using Clock = std::chrono::steady_clock;
  double best = 0;
  for (int i = 0; i < 20; ++i) {
    const auto start = Clock::now();
    const double work = burn();
    best = std::max(best, work / std::chrono::duration<double>(Clock::now() - start).count());
  }
  return best;
}

}  // namespace hub
