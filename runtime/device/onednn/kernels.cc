#include "runtime/device/onednn/kernels.h"

#include <optional>

#include "base/error.h"
#include "runtime/device/onednn/vector.h"

namespace hub::onednn {
namespace {

HUB_VECTOR void layer_norm_row(const float* x, const float* scale, const float* bias, float* y,
                               int64_t width, float epsilon) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < width; ++i) sum += x[i];
  const float mean = sum / static_cast<float>(width);
  float squares = 0;
#pragma omp simd reduction(+ : squares)
  for (int64_t i = 0; i < width; ++i) squares += (x[i] - mean) * (x[i] - mean);
  const float inverse = 1.0F / std::sqrt(squares / static_cast<float>(width) + epsilon);
  if (scale != nullptr && bias != nullptr) {
#pragma omp simd
    for (int64_t i = 0; i < width; ++i) y[i] = (x[i] - mean) * inverse * scale[i] + bias[i];
    return;
  }
  for (int64_t i = 0; i < width; ++i) {
    y[i] = (x[i] - mean) * inverse * (scale != nullptr ? scale[i] : 1.0F) +
           (bias != nullptr ? bias[i] : 0.0F);
  }
}

enum class Kind {
  relu,
  leaky_relu,
  clip,
  linear,
  sigmoid,
  hard_sigmoid,
  hard_swish,
  swish,
  abs,
  sqrt,
  square
};

std::optional<Kind> kind_of(const Post& step) {
  static constexpr std::pair<std::string_view, Kind> kinds[] = {
      {"relu", Kind::relu},       {"leaky_relu", Kind::leaky_relu},
      {"clip", Kind::clip},       {"linear", Kind::linear},
      {"sigmoid", Kind::sigmoid}, {"hard_sigmoid", Kind::hard_sigmoid},
      {"swish", Kind::swish},     {"hard_swish", Kind::hard_swish},
      {"abs", Kind::abs},         {"sqrt", Kind::sqrt},
      {"square", Kind::square}};
  for (const auto& [name, kind] : kinds) {
    if (name == step.kind) return kind;
  }
  return {};
}

#define HUB_LOOP(expression)                                \
  _Pragma("omp simd") for (int64_t i = 0; i < count; ++i) { \
    const float v = x[i];                                   \
    y[i] = (expression);                                    \
  }                                                         \
  break

HUB_VECTOR void elementwise_part(Kind kind, float a, float b, const float* x, float* y,
                                 int64_t count) {
  switch (kind) {
    case Kind::relu: HUB_LOOP(v > 0.0F ? v : (v == v ? 0.0F : v));
    case Kind::leaky_relu: HUB_LOOP(v < 0.0F ? a * v : v);
    case Kind::clip: HUB_LOOP(std::min(std::max(v, a), b));
    case Kind::linear: HUB_LOOP(a * v + b);
    case Kind::sigmoid: HUB_LOOP(1.0F / (1.0F + fast_exp(-v)));
    case Kind::hard_sigmoid: HUB_LOOP(std::min(std::max(a * v + b, 0.0F), 1.0F));
    case Kind::hard_swish: HUB_LOOP(v * std::min(std::max(v + 3.0F, 0.0F), 6.0F) * (1.0F / 6.0F));
    case Kind::swish: HUB_LOOP(v / (1.0F + fast_exp(-a * v)));
    case Kind::abs: HUB_LOOP(std::fabs(v));
    case Kind::sqrt: HUB_LOOP(std::sqrt(v));
    case Kind::square: HUB_LOOP(v * v);
  }
}
#undef HUB_LOOP

HUB_VECTOR void affine_part(const float* x, const float* scale, const float* shift, float* y,
                            int64_t pixels, int64_t block) {
  for (int64_t p = 0; p < pixels; ++p) {
#pragma omp simd
    for (int64_t i = 0; i < block; ++i) {
      y[p * block + i] = x[p * block + i] * scale[i] + shift[i];
    }
  }
}

}  // namespace

void layer_norm_rows(const float* x, const float* scale, const float* bias, float* y, int64_t rows,
                     int64_t width, float epsilon) {
#pragma omp parallel for if (rows * width >= worth_a_thread)
  for (int64_t r = 0; r < rows; ++r) {
    layer_norm_row(x + r * width, scale, bias, y + r * width, width, epsilon);
  }
}

bool has_elementwise(const Post& step) { return kind_of(step).has_value(); }

void elementwise(const Post& step, const float* x, float* y, int64_t count) {
  const auto found = kind_of(step);
  if (!found) fail(Code::unsupported, "no elementwise kernel for '", step.kind, "'");
  const auto a = static_cast<float>(step.a);
  const auto b = static_cast<float>(step.b);
  slices(count,
         [&](int64_t from, int64_t n) { elementwise_part(*found, a, b, x + from, y + from, n); });
}

void affine_channel(const float* x, const float* scale, const float* shift, float* y,
                    int64_t images, int64_t blocks, int64_t pixels, int64_t block) {
  const int64_t size = pixels * block;
#pragma omp parallel for if (images * blocks * size >= worth_a_thread)
  for (int64_t g = 0; g < images * blocks; ++g) {
    const int64_t c = g % blocks * block;
    affine_part(x + g * size, scale + c, shift + c, y + g * size, pixels, block);
  }
}

}  // namespace hub::onednn
