// Gradients of elementwise operators and of row norms, and sums.
#include "runtime/device/onednn/kernels_train.h"
#include "runtime/device/onednn/vector.h"

namespace hub::onednn {
namespace {

/// P(N < -x) e^(x^2 / 2) for x in [0, 13], to 3e-8: a fit in 1 / (1 + 0.35 x).
HUB_INLINE float tail(float x) {
  const float t = 1.0F / (1.0F + 0.35F * x);
  float p = -0.029095206F;
  p = p * t + 0.143720073F;
  p = p * t - 0.255183318F;
  p = p * t + 0.158553522F;
  p = p * t - 0.022671597F;
  p = p * t + 0.105317237F;
  p = p * t + 0.119882687F;
  p = p * t + 0.139854759F;
  p = p * t + 0.139621828F;
  return p * t;
}

/// e^(-x^2 / 2): the rounding of the square is made good.
HUB_INLINE float bell(float x) {
  const float half = 0.5F * x;
  const float square = half * x;
  return fast_exp(-square) * (1.0F - __builtin_fmaf(half, x, -square));
}

struct Normal {
  float below;  ///< P(N < x)
  float bell;   ///< e^(-x^2 / 2)
};
HUB_INLINE Normal normal(float x) {
  const float far = std::min(std::fabs(x), 13.0F);
  const float b = bell(far);
  const float outer = b * tail(far);
  return {x < 0.0F ? outer : 1.0F - outer, b};
}

#define HUB_SLOPE(expression)                               \
  _Pragma("omp simd") for (int64_t i = 0; i < count; ++i) { \
    const float v = x[i];                                   \
    const float g = dy[i];                                  \
    dx[i] = (expression);                                   \
  }                                                         \
  break

HUB_INLINE float sigmoid(float x) { return 1.0F / (1.0F + fast_exp(-x)); }

HUB_VECTOR void slope_part(Slope kind, float a, float b, const float* x, const float* dy, float* dx,
                           int64_t count) {
  switch (kind) {
    case Slope::relu: HUB_SLOPE(v > 0.0F ? g : 0.0F);
    case Slope::leaky_relu: HUB_SLOPE(v > 0.0F ? g : a * g);
    case Slope::clip: HUB_SLOPE(v > a && v < b ? g : 0.0F);
    case Slope::sigmoid: HUB_SLOPE(g * v * (1.0F - v));
    case Slope::tanh: HUB_SLOPE(g * (1.0F - v * v));
    case Slope::hard_sigmoid: HUB_SLOPE(a * v + b > 0.0F && a * v + b < 1.0F ? a * g : 0.0F);
    case Slope::hard_swish: HUB_SLOPE(v <= -3.0F ? 0.0F : (v < 3.0F ? g * (v / 3.0F + 0.5F) : g));
    case Slope::swish: {
#pragma omp simd
      for (int64_t i = 0; i < count; ++i) {
        const float s = sigmoid(a * x[i]);
        dx[i] = dy[i] * (s + a * x[i] * s * (1.0F - s));
      }
      break;
    }
    case Slope::gelu: {
#pragma omp simd
      for (int64_t i = 0; i < count; ++i) {
        const Normal n = normal(x[i]);
        dx[i] = dy[i] * (n.below + x[i] * n.bell * 0.398942280F);
      }
      break;
    }
  }
}
#undef HUB_SLOPE

HUB_VECTOR void gelu_part(const float* x, float* y, int64_t count) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) y[i] = x[i] * normal(x[i]).below;
}

HUB_INLINE float dot(const float* a, const float* b, int64_t count) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < count; ++i) sum += a[i] * b[i];
  return sum;
}

HUB_VECTOR void softmax_grad_row(const float* y, const float* dy, float* dx, float scale,
                                 int64_t width) {
  const float sum = dot(y, dy, width);
#pragma omp simd
  for (int64_t i = 0; i < width; ++i) dx[i] = scale * y[i] * (dy[i] - sum);
}

/// The gradient of one row; adds to the row's share of dscale and dbias.
HUB_VECTOR void layer_norm_grad_row(const float* x, const float* dy, const float* scale, float* dx,
                                    float* dscale, float* dbias, int64_t width, float epsilon) {
  const auto count = static_cast<float>(width);
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < width; ++i) sum += x[i];
  const float mean = sum / count;
  float squares = 0;
#pragma omp simd reduction(+ : squares)
  for (int64_t i = 0; i < width; ++i) squares += (x[i] - mean) * (x[i] - mean);
  const float inverse = 1.0F / std::sqrt(squares / count + epsilon);
  float total = 0;
  float products = 0;
  if (scale != nullptr) {
#pragma omp simd reduction(+ : total, products)
    for (int64_t i = 0; i < width; ++i) {
      const float normal = (x[i] - mean) * inverse;
      const float g = dy[i] * scale[i];
      dscale[i] += dy[i] * normal;
      dbias[i] += dy[i];
      total += g;
      products += g * normal;
    }
  } else {
#pragma omp simd reduction(+ : total, products)
    for (int64_t i = 0; i < width; ++i) {
      total += dy[i];
      products += dy[i] * (x[i] - mean) * inverse;
    }
  }
  total /= count;
  products /= count;
#pragma omp simd
  for (int64_t i = 0; i < width; ++i) {
    const float g = scale != nullptr ? dy[i] * scale[i] : dy[i];
    dx[i] = inverse * (g - total - (x[i] - mean) * inverse * products);
  }
}

/// Rows whose shares of a sum are added one after the other.
constexpr int64_t rows_a_share = 64;

HUB_VECTOR void add_rows(const float* x, float* y, int64_t rows, int64_t width, int64_t stride) {
  for (int64_t r = 0; r < rows; ++r) {
#pragma omp simd
    for (int64_t i = 0; i < width; ++i) y[i] += x[r * stride + i];
  }
}

/// Columns [0, width) of the sum: pieces of some rows, each added up on its own.
void column_part(const float* x, float* y, int64_t rows, int64_t width, int64_t stride) {
  constexpr int64_t tile = 256;
  for (int64_t c = 0; c < width; c += tile) {
    const int64_t n = std::min(tile, width - c);
    std::fill_n(y + c, n, 0.0F);
    for (int64_t r = 0; r < rows; r += rows_a_share) {
      float part[tile] = {};
      add_rows(x + r * stride + c, part, std::min(rows_a_share, rows - r), n, stride);
      for (int64_t i = 0; i < n; ++i) y[c + i] += part[i];
    }
  }
}

HUB_VECTOR double plain_sum(const float* x, int64_t count) {
  double total = 0;
  for (int64_t i = 0; i < count; i += 4096) {
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t k = i; k < std::min(i + 4096, count); ++k) sum += x[k];
    total += sum;
  }
  return total;
}

}  // namespace

void slope(Slope kind, float a, float b, const float* v, const float* dy, float* dx,
           int64_t count) {
  slices(count, [&](int64_t from, int64_t n) {
    slope_part(kind, a, b, v + from, dy + from, dx + from, n);
  });
}

void gelu(const float* x, float* y, int64_t count) {
  slices(count, [&](int64_t from, int64_t n) { gelu_part(x + from, y + from, n); });
}

void softmax_grad_rows(const float* y, const float* dy, float* dx, int64_t rows, int64_t width) {
#pragma omp parallel for if (rows * width >= worth_a_thread)
  for (int64_t r = 0; r < rows; ++r)
    softmax_grad_row(y + r * width, dy + r * width, dx + r * width, 1.0F, width);
}

void score_grad_rows(const float* p, float* dp, float scale, int64_t rows, int64_t keys) {
#pragma omp parallel for if (rows * keys >= worth_a_thread)
  for (int64_t r = 0; r < rows; ++r)
    softmax_grad_row(p + r * keys, dp + r * keys, dp + r * keys, scale, keys);
}

int64_t layer_norm_scratch(int64_t rows, int64_t width) {
  return (rows + rows_a_share - 1) / rows_a_share * 2 * width;
}

void layer_norm_grad_rows(const float* x, const float* dy, const float* scale, float* dx,
                          float* dscale, float* dbias, float* scratch, int64_t rows, int64_t width,
                          float epsilon) {
  const int64_t shares = (rows + rows_a_share - 1) / rows_a_share;
#pragma omp parallel for if (rows * width >= worth_a_thread)
  for (int64_t s = 0; s < shares; ++s) {
    float* part = scratch + s * 2 * width;
    std::fill_n(part, 2 * width, 0.0F);
    for (int64_t r = s * rows_a_share; r < std::min(rows, (s + 1) * rows_a_share); ++r) {
      layer_norm_grad_row(x + r * width, dy + r * width, scale, dx + r * width, part, part + width,
                          width, epsilon);
    }
  }
  if (dscale != nullptr) column_part(scratch, dscale, shares, width, 2 * width);
  if (dbias != nullptr) column_part(scratch + width, dbias, shares, width, 2 * width);
}

void column_sums(const float* x, float* y, int64_t rows, int64_t width) {
  if (rows * width < worth_a_thread) return column_part(x, y, rows, width, width);
  slices(std::max(width, worth_a_thread), [&](int64_t from, int64_t n) {
    // slices() cuts by work; here only columns can be cut.
    if (n <= 0) return;
    const int64_t total = std::max(width, worth_a_thread);
    const int64_t begin = width * from / total / 16 * 16;
    const int64_t end = from + n == total ? width : width * (from + n) / total / 16 * 16;
    column_part(x + begin, y + begin, rows, end - begin, width);
  });
}

void channel_sums(const float* x, float* y, int64_t images, int64_t channels, int64_t pixels,
                  int64_t block) {
  const int64_t blocks = (channels + block - 1) / block;
#pragma omp parallel for if (images * channels * pixels >= worth_a_thread)
  for (int64_t b = 0; b < blocks; ++b) {
    double sums[16] = {};
    for (int64_t n = 0; n < images; ++n) {
      const float* at = x + (n * blocks + b) * pixels * block;
      if (block == 1) {
        sums[0] += plain_sum(at, pixels);
        continue;
      }
      float part[16];
      column_part(at, part, pixels, block, block);
      for (int64_t i = 0; i < block; ++i) sums[i] += part[i];
    }
    for (int64_t i = 0; i < std::min(block, channels - b * block); ++i)
      y[b * block + i] = static_cast<float>(sums[i]);
  }
}

}  // namespace hub::onednn
