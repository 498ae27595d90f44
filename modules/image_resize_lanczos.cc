// Resizing as OpenCV's INTER_LANCZOS4 does it on 8-bit pixels: eight taps, no antialias,
// coefficients in 11-bit fixed point, the border repeats.
#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "base/error.h"
#include "modules/image.h"

namespace hub {
namespace {

constexpr int count = 8, precision = 11;

/// Where one output takes its values from along an axis, and how much of each.
struct Taps {
  std::array<int, count> at;
  std::array<int32_t, count> weight;  ///< of 1 << precision
};

double sinc(double x) {
  const double angle = x * std::numbers::pi;
  return std::abs(x) < 1e-6 ? 1 : std::sin(angle) / angle;
}

std::vector<Taps> make_taps(int in, int out) {
  const double scale = static_cast<double>(in) / out;
  std::vector<Taps> all(static_cast<size_t>(out));
  for (int i = 0; i < out; ++i) {
    const auto place = static_cast<float>((i + 0.5) * scale - 0.5);
    const int first = static_cast<int>(std::floor(place)) - (count / 2 - 1);
    double weights[count], sum = 0;
    for (int k = 0; k < count; ++k) {
      const double distance = place - static_cast<float>(first + k);
      sum += weights[k] = sinc(distance) * sinc(distance / (count / 2));
    }
    for (int k = 0; k < count; ++k) {
      all[i].at[k] = std::clamp(first + k, 0, in - 1);
      all[i].weight[k] = static_cast<int32_t>(std::lrint(weights[k] / sum * (1 << precision)));
    }
  }
  return all;
}

}  // namespace

Image resize_opencv_lanczos(const Image& image, int width, int height) {
  if (width < 1 || height < 1 || image.width < 1 || image.height < 1 || image.channels < 1) {
    fail(Code::usage, "cannot resize ", image.width, "x", image.height, " to ", width, "x", height);
  }
  const int channels = image.channels;
  const std::vector<Taps> columns = make_taps(image.width, width);
  const std::vector<Taps> rows = make_taps(image.height, height);
  Image out{.width = width, .height = height, .channels = channels, .pixels = {}};
  const size_t line = static_cast<size_t>(width) * channels;
  out.pixels.resize(line * height);

  // Rows of the new width, times 1 << precision: the last `count` of the input, by y % count.
  std::vector<int32_t> stretched[count];
  int held[count];
  std::fill(std::begin(held), std::end(held), -1);
  const auto stretch = [&](int y) -> const int32_t* {
    std::vector<int32_t>& to = stretched[y % count];
    if (held[y % count] == y) return to.data();
    held[y % count] = y;
    to.assign(line, 0);
    const uint8_t* from = image.row(y);
    for (int x = 0; x < width; ++x) {
      for (int k = 0; k < count; ++k) {
        const uint8_t* pixel = from + static_cast<ptrdiff_t>(columns[x].at[k]) * channels;
        for (int c = 0; c < channels; ++c)
          to[static_cast<size_t>(x) * channels + c] += columns[x].weight[k] * pixel[c];
      }
    }
    return to.data();
  };
  std::vector<int64_t> sums(line);
  for (int y = 0; y < height; ++y) {
    std::fill(sums.begin(), sums.end(), int64_t{1} << (2 * precision - 1));
    for (int k = 0; k < count; ++k) {
      const int32_t* from = stretch(rows[y].at[k]);
      for (size_t i = 0; i < line; ++i) sums[i] += int64_t{rows[y].weight[k]} * from[i];
    }
    uint8_t* to = out.row(y);
    for (size_t i = 0; i < line; ++i)
      to[i] = static_cast<uint8_t>(std::clamp<int64_t>(sums[i] >> (2 * precision), 0, 255));
  }
  return out;
}

}  // namespace hub
