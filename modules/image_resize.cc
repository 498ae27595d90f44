// Resizing as Pillow 13 does it, byte for byte: two passes of 8-bit pixels, coefficients in 22-bit
// fixed point.
#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "modules/image.h"

namespace hub {
namespace {

constexpr int precision = 22;

double sinc(double x) {
  if (x == 0) return 1;
  x *= M_PI;
  return std::sin(x) / x;
}

double bilinear(double x) { return std::max(0.0, 1 - std::abs(x)); }

double bicubic(double x) {
  constexpr double a = -0.5;
  x = std::abs(x);
  if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return (((x - 5) * x + 8) * x - 4) * a;
  return 0;
}

double lanczos(double x) { return x >= -3 && x < 3 ? sinc(x) * sinc(x / 3) : 0; }

double box(double x) { return x > -0.5 && x <= 0.5 ? 1 : 0; }

struct Kernel {
  double (*weight)(double);
  double support;
};

Kernel kernel_of(Filter filter) {
  switch (filter) {
    case Filter::bilinear: return {bilinear, 1};
    case Filter::bicubic: return {bicubic, 2};
    case Filter::lanczos: return {lanczos, 3};
    case Filter::box: break;
  }
  return {box, 0.5};
}

/// For each output pixel of one axis: which inputs it is made of, and how much of each.
struct Taps {
  int most = 0;  ///< taps of a pixel at most; row length of `weights`
  std::vector<int> first, count;
  std::vector<int32_t> weights;
  const int32_t* of(int i) const {
    return weights.data() + static_cast<size_t>(i) * static_cast<size_t>(most);
  }
};

Taps make_taps(int in, int out, const Kernel& kernel) {
  const double scale = static_cast<double>(in) / out;
  const double wide = std::max(scale, 1.0), support = kernel.support * wide;
  Taps taps;
  taps.most = static_cast<int>(std::ceil(support)) * 2 + 1;
  taps.weights.resize(static_cast<size_t>(out) * static_cast<size_t>(taps.most));
  std::vector<double> row(static_cast<size_t>(taps.most));
  for (int i = 0; i < out; ++i) {
    const double center = (i + 0.5) * scale;
    const int first = std::max(static_cast<int>(center - support + 0.5), 0);
    const int count = std::min(static_cast<int>(center + support + 0.5), in) - first;
    double sum = 0;
    const double inverse = 1 / wide;
    for (int k = 0; k < count; ++k) {
      row[k] = kernel.weight((k + first - center + 0.5) * inverse);
      sum += row[k];
    }
    int32_t* to = taps.weights.data() + static_cast<size_t>(i) * static_cast<size_t>(taps.most);
    for (int k = 0; k < count; ++k) {
      const double weight = (sum != 0 ? row[k] / sum : row[k]) * (1 << precision);
      to[k] = static_cast<int32_t>(weight < 0 ? weight - 0.5 : weight + 0.5);
    }
    taps.first.push_back(first);
    taps.count.push_back(count);
  }
  return taps;
}

uint8_t to_byte(int32_t sum) { return static_cast<uint8_t>(std::clamp(sum >> precision, 0, 255)); }

constexpr int32_t half = 1 << (precision - 1);

template <int channels>
void shrink_row(const uint8_t* in, uint8_t* out, int width, const Taps& taps) {
  for (int x = 0; x < width; ++x, out += channels) {
    int32_t sum[channels];
    for (int c = 0; c < channels; ++c) sum[c] = half;
    const uint8_t* from = in + static_cast<size_t>(taps.first[x]) * channels;
    const int32_t* weight = taps.of(x);
    for (int k = 0; k < taps.count[x]; ++k, from += channels) {
      for (int c = 0; c < channels; ++c) sum[c] += from[c] * weight[k];
    }
    for (int c = 0; c < channels; ++c) out[c] = to_byte(sum[c]);
  }
}

Image across(const Image& image, int width, const Kernel& kernel) {
  const Taps taps = make_taps(image.width, width, kernel);
  Image out{.width = width, .height = image.height, .channels = image.channels, .pixels = {}};
  out.pixels.resize(static_cast<size_t>(width) * image.height * image.channels);
  const auto row = image.channels == 1   ? shrink_row<1>
                   : image.channels == 3 ? shrink_row<3>
                                         : shrink_row<4>;
  for (int y = 0; y < image.height; ++y) row(image.row(y), out.row(y), width, taps);
  return out;
}

Image down(const Image& image, int height, const Kernel& kernel) {
  const Taps taps = make_taps(image.height, height, kernel);
  Image out{.width = image.width, .height = height, .channels = image.channels, .pixels = {}};
  const size_t line = static_cast<size_t>(image.width) * image.channels;
  out.pixels.resize(line * height);
  std::vector<int32_t> sums(line);
  for (int y = 0; y < height; ++y) {
    std::fill(sums.begin(), sums.end(), half);
    for (int k = 0; k < taps.count[y]; ++k) {
      const uint8_t* from = image.row(taps.first[y] + k);
      const int32_t weight = taps.of(y)[k];
      for (size_t i = 0; i < line; ++i) sums[i] += from[i] * weight;
    }
    uint8_t* to = out.row(y);
    for (size_t i = 0; i < line; ++i) to[i] = to_byte(sums[i]);
  }
  return out;
}

}  // namespace

Image resize_pillow(const Image& image, int width, int height, Filter filter) {
  const bool known = image.channels == 1 || image.channels == 3 || image.channels == 4;
  if (width < 1 || height < 1 || image.width < 1 || image.height < 1 || !known) {
    fail(Code::usage, "cannot resize ", image.width, "x", image.height, "x", image.channels, " to ",
         width, "x", height);
  }
  const Kernel kernel = kernel_of(filter);
  if (width == image.width && height == image.height) return image;
  if (width == image.width) return down(image, height, kernel);
  if (height == image.height) return across(image, width, kernel);
  // The order shows in the bytes, as the first pass rounds. Pillow 12 and before always went across
  // first.
  const int64_t lost_rows = image.height - height, lost_columns = image.width - width;
  const bool down_first = lost_rows > 0 && lost_rows > 2 * lost_columns;
  if (down_first) return across(down(image, height, kernel), width, kernel);
  return down(across(image, width, kernel), height, kernel);
}

}  // namespace hub
