#include "runtime/device/onednn/kernels_recurrent.h"

#include "runtime/device/onednn/vector.h"

namespace hub::onednn {
namespace {

HUB_INLINE float sigmoid(float x) { return 1.0F / (1.0F + fast_exp(-x)); }
HUB_INLINE float tangent(float x) { return 2.0F / (1.0F + fast_exp(-2.0F * x)) - 1.0F; }

}  // namespace

HUB_VECTOR void add_row(float* x, const float* y, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) x[i] += y[i];
}

HUB_VECTOR void sigmoid_gate(float* x, const float* fed, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) x[i] = sigmoid(x[i] + fed[i]);
}

HUB_VECTOR void product_row(const float* a, const float* b, float* y, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) y[i] = a[i] * b[i];
}

HUB_VECTOR void gru_state(const float* x, const float* fed, const float* z, bool swapped, float* h,
                          int64_t n) {
  const float first = swapped ? 1.0F : 0.0F, sign = swapped ? -1.0F : 1.0F;
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    const float fresh = tangent(x[i] + fed[i]);
    h[i] = fresh + (first + sign * z[i]) * (h[i] - fresh);
  }
}

HUB_VECTOR void lstm_state(const float* x, const float* fed, float* cell, float* h, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    const float in = sigmoid(x[i] + fed[i]);
    const float forget = sigmoid(x[2 * n + i] + fed[2 * n + i]);
    const float c = forget * cell[i] + in * tangent(x[3 * n + i] + fed[3 * n + i]);
    cell[i] = c;
    h[i] = sigmoid(x[n + i] + fed[n + i]) * tangent(c);
  }
}

}  // namespace hub::onednn
