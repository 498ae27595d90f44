// Optimizer updates: one walk over parameter, gradient and what is remembered.
#include "runtime/device/onednn/kernels_train.h"
#include "runtime/device/onednn/vector.h"

namespace hub::onednn {
namespace {

HUB_VECTOR void adam_part(const AdamStep& s, const float* p, const float* g, const float* m,
                          const float* v, float* p_to, float* m_to, float* v_to, int64_t count) {
  const AdamStep a = s;
  const float coupled = a.decoupled ? 0.0F : a.decay;
  const float kept = a.decoupled ? 1.0F - a.rate * a.decay : 1.0F;
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) {
    const float d = g[i] * a.scale + coupled * p[i];
    const float mi = m[i] + (1.0F - a.beta1) * (d - m[i]);
    const float vi = a.beta2 * v[i] + (1.0F - a.beta2) * d * d;
    p_to[i] = p[i] * kept - a.rate * (mi * a.correct1 / (std::sqrt(vi) * a.correct2 + a.epsilon));
    m_to[i] = mi;
    v_to[i] = vi;
  }
}

HUB_VECTOR void momentum_part(float rate, float scale, float decay, float mu, bool nesterov,
                              const float* p, const float* g, const float* v, float* p_to,
                              float* v_to, int64_t count) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) {
    const float d = g[i] * scale + decay * p[i];
    const float vi = mu * v[i] + d;
    p_to[i] = p[i] - rate * (nesterov ? d + mu * vi : vi);
    v_to[i] = vi;
  }
}

HUB_VECTOR void sgd_part(float rate, float scale, float decay, const float* p, const float* g,
                         float* p_to, int64_t count) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) p_to[i] = p[i] - rate * (g[i] * scale + decay * p[i]);
}

}  // namespace

void adam(const AdamStep& s, const float* p, const float* g, const float* m, const float* v,
          float* p_to, float* m_to, float* v_to, int64_t count) {
  slices(count, [&](int64_t at, int64_t n) {
    adam_part(s, p + at, g + at, m + at, v + at, p_to + at, m_to + at, v_to + at, n);
  });
}

void momentum(float rate, float scale, float decay, float mu, bool nesterov, const float* p,
              const float* g, const float* v, float* p_to, float* v_to, int64_t count) {
  slices(count, [&](int64_t at, int64_t n) {
    momentum_part(rate, scale, decay, mu, nesterov, p + at, g + at, v + at, p_to + at, v_to + at,
                  n);
  });
}

void sgd(float rate, float scale, float decay, const float* p, const float* g, float* p_to,
         int64_t count) {
  slices(count, [&](int64_t at, int64_t n) {
    sgd_part(rate, scale, decay, p + at, g + at, p_to + at, n);
  });
}

}  // namespace hub::onednn
