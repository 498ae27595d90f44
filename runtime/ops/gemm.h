// The one matrix product of the reference kernels: fast enough to be the fallback, on one thread.
#pragma once

#include <cstdint>

namespace hub {

/// A matrix in memory: element (i, j) is data[i * row + j * col].
template <class T>
struct Matrix {
  const T* data;
  int64_t row, col;
};

/// c[m, n] (rows `ldc` apart) = a[m, k] · b[k, n], or added to what is there.
void gemm(int64_t m, int64_t n, int64_t k, Matrix<float> a, Matrix<float> b, float* c, int64_t ldc,
          bool add = false);
void gemm(int64_t m, int64_t n, int64_t k, Matrix<double> a, Matrix<double> b, double* c,
          int64_t ldc, bool add = false);
void gemm(int64_t m, int64_t n, int64_t k, Matrix<int32_t> a, Matrix<int32_t> b, int32_t* c,
          int64_t ldc, bool add = false);
void gemm(int64_t m, int64_t n, int64_t k, Matrix<int64_t> a, Matrix<int64_t> b, int64_t* c,
          int64_t ldc, bool add = false);

}  // namespace hub
