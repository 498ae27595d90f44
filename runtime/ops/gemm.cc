#include "runtime/ops/gemm.h"

#include <algorithm>
#include <type_traits>
#include <vector>

namespace hub {
namespace {

// Signed overflow of integers wraps, as it does everywhere else in the formats.
template <class T>
using Wrap = std::conditional_t<std::is_same_v<T, int32_t>, uint32_t,
                                std::conditional_t<std::is_same_v<T, int64_t>, uint64_t, T>>;

#define HUB_INLINE inline __attribute__((always_inline))

/// rows x (vectors of 32 bytes) of c, all sums in registers; b has its rows `ldb` apart.
template <class T, int rows, int vectors>
HUB_INLINE void tile(int64_t k, Matrix<T> a, const T* b, int64_t ldb, T* c, int64_t ldc, bool add) {
  constexpr int width = 32 / sizeof(T);
  typedef T Vector __attribute__((vector_size(32)));
  typedef T Loose
      __attribute__((vector_size(32), aligned(alignof(T)), may_alias));  // anywhere in memory
  Vector sum[rows][vectors] = {};
#pragma GCC unroll 8
  for (int r = 0; add && r < rows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < vectors; ++v)
      sum[r][v] = *reinterpret_cast<const Loose*>(c + r * ldc + v * width);
  }
  for (int64_t i = 0; i < k; ++i) {
#pragma GCC unroll 8
    for (int v = 0; v < vectors; ++v) {
      const Vector line = *reinterpret_cast<const Loose*>(b + i * ldb + v * width);
#pragma GCC unroll 8
      for (int r = 0; r < rows; ++r) sum[r][v] += a.data[r * a.row + i * a.col] * line;
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < vectors; ++v)
      *reinterpret_cast<Loose*>(c + r * ldc + v * width) = sum[r][v];
  }
}

/// m rows of a strip of `vectors` vectors.
template <class T, int vectors>
HUB_INLINE void strip(int64_t m, int64_t k, Matrix<T> a, const T* b, int64_t ldb, T* c, int64_t ldc,
                      bool add) {
  int64_t i = 0;
  auto rows = [&](int64_t first) { return Matrix<T>{a.data + first * a.row, a.row, a.col}; };
  for (; i + 4 <= m; i += 4) tile<T, 4, vectors>(k, rows(i), b, ldb, c + i * ldc, ldc, add);
  for (; i < m; ++i) tile<T, 1, vectors>(k, rows(i), b, ldb, c + i * ldc, ldc, add);
}

/// What is left of the columns, `n` < one strip: through a padded copy of both.
template <class T, int width>
HUB_INLINE void edge(int64_t m, int64_t n, int64_t k, Matrix<T> a, const T* b, T* c, int64_t ldc,
                     bool add) {
  T lines[4 * width] = {};
  for (int64_t i = 0; i < m; i += 4) {
    const int64_t rows = std::min<int64_t>(4, m - i);
    for (int64_t r = 0; add && r < rows; ++r) std::copy_n(c + (i + r) * ldc, n, lines + r * width);
    strip<T, width * sizeof(T) / 32>(rows, k, {a.data + i * a.row, a.row, a.col}, b, width, lines,
                                     width, add);
    for (int64_t r = 0; r < rows; ++r) std::copy_n(lines + r * width, n, c + (i + r) * ldc);
  }
}

template <class T>
HUB_INLINE void product(int64_t m, int64_t n, int64_t k, Matrix<T> a, Matrix<T> b, T* c,
                        int64_t ldc, bool add) {
  constexpr int width = 64 / sizeof(T);
  int64_t j = 0;
  // Few rows: b is read once anyway, so it is read where it lies, in wide strips to keep the adders
  // busy.
  if (b.col == 1 && m < 8) {
    for (; j + 4 * width <= n; j += 4 * width)
      strip<T, 8>(m, k, a, b.data + j, b.row, c + j, ldc, add);
    for (; j + width <= n; j += width) strip<T, 2>(m, k, a, b.data + j, b.row, c + j, ldc, add);
  }
  std::vector<T> packed(j < n ? static_cast<size_t>(k * width) : 0);
  for (; j < n; j += width) {
    const int64_t columns = std::min<int64_t>(width, n - j);
    for (int64_t i = 0; i < k; ++i) {
      const T* from = b.data + i * b.row + j * b.col;
      for (int64_t l = 0; l < columns; ++l)
        packed[static_cast<size_t>(i * width + l)] = from[l * b.col];
    }
    if (columns == width) {
      strip<T, 2>(m, k, a, packed.data(), width, c + j, ldc, add);
    } else {
      edge<T, width>(m, columns, k, a, packed.data(), c + j, ldc, add);
    }
  }
}

#if defined(__x86_64__)
template <class T>
__attribute__((target("avx2,fma"))) void product_avx2(int64_t m, int64_t n, int64_t k, Matrix<T> a,
                                                      Matrix<T> b, T* c, int64_t ldc, bool add) {
  product<T>(m, n, k, a, b, c, ldc, add);
}
bool has_avx2() {
  static const bool has = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  return has;
}
#endif

template <class T>
void dispatched(int64_t m, int64_t n, int64_t k, Matrix<T> a, Matrix<T> b, T* c, int64_t ldc,
                bool add) {
  using W = Wrap<T>;
  const Matrix<W> wa{reinterpret_cast<const W*>(a.data), a.row, a.col};
  const Matrix<W> wb{reinterpret_cast<const W*>(b.data), b.row, b.col};
  W* wc = reinterpret_cast<W*>(c);
#if defined(__x86_64__)
  if (has_avx2()) return product_avx2<W>(m, n, k, wa, wb, wc, ldc, add);
#endif
  product<W>(m, n, k, wa, wb, wc, ldc, add);
}

}  // namespace

void gemm(int64_t m, int64_t n, int64_t k, Matrix<float> a, Matrix<float> b, float* c, int64_t ldc,
          bool add) {
  dispatched(m, n, k, a, b, c, ldc, add);
}
void gemm(int64_t m, int64_t n, int64_t k, Matrix<double> a, Matrix<double> b, double* c,
          int64_t ldc, bool add) {
  dispatched(m, n, k, a, b, c, ldc, add);
}
void gemm(int64_t m, int64_t n, int64_t k, Matrix<int32_t> a, Matrix<int32_t> b, int32_t* c,
          int64_t ldc, bool add) {
  dispatched(m, n, k, a, b, c, ldc, add);
}
void gemm(int64_t m, int64_t n, int64_t k, Matrix<int64_t> a, Matrix<int64_t> b, int64_t* c,
          int64_t ldc, bool add) {
  dispatched(m, n, k, a, b, c, ldc, add);
}

}  // namespace hub
