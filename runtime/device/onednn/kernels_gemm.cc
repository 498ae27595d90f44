#include "runtime/device/onednn/kernels_gemm.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/device/onednn/vector.h"

namespace hub::onednn {
namespace {

template <int i>
using constant = std::integral_constant<int, i>;

/// act(0), act(1), … with numbers that are constants: what they index stays in registers, which the
/// compiler does not manage for every loop that it unrolls itself.
template <int count, class Act>
HUB_INLINE void times(Act act) {
  [&]<int... i>(std::integer_sequence<int, i...>) HUB_INLINED { (act(constant<i>{}), ...); }
  (std::make_integer_sequence<int, count>{});
}

/// A block of the result in registers: `rows` rows of `vectors` vectors of W numbers. For each
/// number of a row of a one instruction spreads it over a vector; the compiler would load it first
/// and spread it then, which takes the place of a product. Every `pace` steps one more row of
/// `next` is fetched into the second-level cache.
template <int W, int vectors, int rows>
HUB_INLINE void tile(int64_t k, const float* a, int64_t lda, const float* b, float* c, int64_t ldc,
                     bool add, const float* next, int64_t pace) {
  typedef float V __attribute__((vector_size(W * 4), aligned(4), may_alias));
  // A product waits for the one before it on the same sum: few rows get several sums.
  constexpr int chains = rows * vectors >= 8 ? 1 : 4;
  V sums[chains][rows][vectors];
  const auto each = [&](auto act) HUB_INLINED {
    times<rows>([&](auto i)
                    HUB_INLINED { times<vectors>([&](auto j) HUB_INLINED { act(i, j); }); });
  };
  each([&](auto i, auto j) HUB_INLINED {
    sums[0][i][j] = add ? *reinterpret_cast<const V*>(c + i * ldc + j * W) : V{};
    times<chains - 1>([&](auto u) HUB_INLINED { sums[u + 1][i][j] = V{}; });
  });
  const auto step = [&](int64_t p, auto u) HUB_INLINED {
    V row[vectors];
    times<vectors>([&](auto j) HUB_INLINED {
      row[j] = *reinterpret_cast<const V*>(b + p * (vectors * W) + j * W);
    });
    times<rows>([&](auto i) HUB_INLINED {
      V x;
      if constexpr (W == 4)
        x = V{} + a[i * lda + p];
      else
        asm("vbroadcastss %1, %0" : "=v"(x) : "m"(a[i * lda + p]));
      times<vectors>([&](auto j) HUB_INLINED { sums[u][i][j] += x * row[j]; });
    });
  };
  int64_t p = 0;
  if constexpr (chains > 1) {
    for (; p + chains <= k; p += chains) times<chains>([&](auto u) HUB_INLINED { step(p + u, u); });
  }
  // The processor does not look ahead across pages.
  constexpr int64_t ahead = 24;
  for (int64_t due = pace; p < k; ++p) {
    for (int j = 0; j < vectors * W; j += 16)
      __builtin_prefetch(b + (p + ahead) * (vectors * W) + j);
    if (--due == 0) {
      for (int j = 0; j < vectors * W; j += 16) __builtin_prefetch(next + j, 0, 2);
      next += vectors * W;
      due = pace;
    }
    step(p, constant<0>{});
  }
  each([&](auto i, auto j) HUB_INLINED {
    times<chains - 1>([&](auto u) HUB_INLINED { sums[0][i][j] += sums[u + 1][i][j]; });
    *reinterpret_cast<V*>(c + i * ldc + j * W) = sums[0][i][j];
  });
}

template <int W, int vectors, int rows>
HUB_INLINE void last_rows(int64_t m, int64_t k, const float* a, int64_t lda, const float* b,
                          float* c, int64_t ldc, bool add, const float* next, int64_t pace) {
  if constexpr (rows > 0) {
    if (m == rows) return tile<W, vectors, rows>(k, a, lda, b, c, ldc, add, next, pace);
    last_rows<W, vectors, rows - 1>(m, k, a, lda, b, c, ldc, add, next, pace);
  }
}

/// One panel under all rows of a. The next one comes from beyond the second-level cache, as fast as
/// half of this one's products last: each tile of full height asks for its share.
template <int W, int vectors, int rows>
HUB_INLINE void panel(int64_t m, int64_t k, const float* a, int64_t lda, const float* b, float* c,
                      int64_t ldc, bool add, const float* next) {
  const int64_t pace = std::max<int64_t>(m / rows, 1);
  const int64_t share = k / pace * vectors * W;
  int64_t i = 0;
  for (; i + rows <= m; i += rows, next += share)
    tile<W, vectors, rows>(k, a + i * lda, lda, b, c + i * ldc, ldc, add, next, pace);
  last_rows<W, vectors, rows - 1>(m - i, k, a + i * lda, lda, b, c + i * ldc, ldc, add, next, pace);
}

using Panel = void (*)(int64_t, int64_t, const float*, int64_t, const float*, float*, int64_t, bool,
                       const float*);

__attribute__((target("avx512f,avx512vl,avx512dq"))) void panel_48(int64_t m, int64_t k,
                                                                   const float* a, int64_t lda,
                                                                   const float* b, float* c,
                                                                   int64_t ldc, bool add,
                                                                   const float* next) {
  panel<16, 3, 8>(m, k, a, lda, b, c, ldc, add, next);
}
__attribute__((target("avx512f,avx512vl,avx512dq"))) void panel_32(int64_t m, int64_t k,
                                                                   const float* a, int64_t lda,
                                                                   const float* b, float* c,
                                                                   int64_t ldc, bool add,
                                                                   const float* next) {
  panel<16, 2, 12>(m, k, a, lda, b, c, ldc, add, next);
}
__attribute__((target("avx2,fma"))) void panel_16(int64_t m, int64_t k, const float* a, int64_t lda,
                                                  const float* b, float* c, int64_t ldc, bool add,
                                                  const float* next) {
  panel<8, 2, 6>(m, k, a, lda, b, c, ldc, add, next);
}
void panel_16_plain(int64_t m, int64_t k, const float* a, int64_t lda, const float* b, float* c,
                    int64_t ldc, bool add, const float* next) {
  panel<4, 4, 2>(m, k, a, lda, b, c, ldc, add, next);
}

enum class Isa { plain, avx2, avx512 };
Isa isa() {
  static const Isa found =
      __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
              __builtin_cpu_supports("avx512dq")
          ? Isa::avx512
      : __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? Isa::avx2
                                                                        : Isa::plain;
  return found;
}

Panel kernel_for(int64_t width) {
  if (isa() == Isa::avx512) return width == 48 ? panel_48 : panel_32;
  return isa() == Isa::avx2 ? panel_16 : panel_16_plain;
}

}  // namespace

int64_t panel_width(int64_t n) {
  if (isa() != Isa::avx512) return 16;
  return n % 48 == 0 ? 48 : 32;
}

int64_t packed_size(int64_t k, int64_t n) {
  const int64_t w = panel_width(n);
  return (n + w - 1) / w * w * k;
}

void pack_panels(const float* b, int64_t k, int64_t n, int64_t row, int64_t column, float* packed) {
  const int64_t w = panel_width(n);
  for (int64_t j = 0; j < n; j += w) {
    const int64_t there = std::min(w, n - j);
    for (int64_t r = 0; r < k; ++r, packed += w)
      for (int64_t c = 0; c < w; ++c) packed[c] = c < there ? b[r * row + (j + c) * column] : 0.0F;
  }
}

void unpack_panels(const float* packed, int64_t k, int64_t n, int64_t row, int64_t column,
                   float* b) {
  const int64_t w = panel_width(n);
  for (int64_t j = 0; j < n; j += w)
    for (int64_t r = 0; r < k; ++r, packed += w)
      for (int64_t c = 0; c < std::min(w, n - j); ++c) b[r * row + (j + c) * column] = packed[c];
}

void gemm_panels(int64_t m, int64_t n, int64_t k, const float* a, int64_t lda, const float* packed,
                 float* c, int64_t ldc, bool add) {
  gemm_columns(panel_width(n), m, n, k, a, lda, packed, c, ldc, add);
}

void gemm_columns(int64_t w, int64_t m, int64_t n, int64_t k, const float* a, int64_t lda,
                  const float* packed, float* c, int64_t ldc, bool add, const float* next) {
  const Panel run = kernel_for(w);
  for (int64_t j = 0; j < n; j += w, packed += w * k) {
    const float* following = j + w < n || next == nullptr ? packed + w * k : next;
    if (j + w <= n) {
      run(m, k, a, lda, packed, c + j, ldc, add, following);
      continue;
    }
    // The last columns go through a buffer of full width.
    constexpr int64_t most = 48, rows = 24;
    float buffer[rows * most];
    const auto count = static_cast<size_t>(n - j) * sizeof(float);
    for (int64_t i = 0; i < m; i += rows) {
      const int64_t here = std::min(rows, m - i);
      for (int64_t r = 0; add && r < here; ++r)
        std::memcpy(buffer + r * w, c + (i + r) * ldc + j, count);
      run(here, k, a + i * lda, lda, packed, buffer, w, add, following);
      for (int64_t r = 0; r < here; ++r) std::memcpy(c + (i + r) * ldc + j, buffer + r * w, count);
    }
  }
}

}  // namespace hub::onednn
