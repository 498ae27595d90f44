// Resizing as OpenCV's INTER_LINEAR does it on 8-bit pixels: no antialias, coefficients in 11-bit
// fixed point.
#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "modules/image.h"

namespace hub {
namespace {

constexpr int precision = 11, one = 1 << precision;

/// The two inputs of each output of one axis, in elements of `step`, and how much of each.
struct Pairs {
  std::vector<int> first, second, weight;  ///< weight of the second, of `one`
};

Pairs make_pairs(int in, int out, int step) {
  const double scale = static_cast<double>(in) / out;
  Pairs pairs;
  for (int i = 0; i < out; ++i) {
    const auto at = static_cast<float>((i + 0.5) * scale - 0.5);
    const int first = static_cast<int>(std::floor(at));
    const bool outside = first < 0 || first >= in - 1;
    pairs.first.push_back(std::clamp(first, 0, in - 1) * step);
    pairs.second.push_back(std::clamp(first + 1, 0, in - 1) * step);
    pairs.weight.push_back(
        outside ? 0 : static_cast<int>(std::lrint((at - static_cast<float>(first)) * one)));
  }
  return pairs;
}

}  // namespace

Image resize_opencv(const Image& image, int width, int height) {
  if (width < 1 || height < 1 || image.width < 1 || image.height < 1 || image.channels < 1) {
    fail(Code::usage, "cannot resize ", image.width, "x", image.height, " to ", width, "x", height);
  }
  const int channels = image.channels;
  const Pairs columns = make_pairs(image.width, width, channels);
  const Pairs rows = make_pairs(image.height, height, 1);
  Image out{.width = width, .height = height, .channels = channels, .pixels = {}};
  const size_t line = static_cast<size_t>(width) * channels;
  out.pixels.resize(line * height);

  // Rows already stretched to the new width, times `one`: of at most two input rows.
  std::vector<int32_t> stretched[2] = {std::vector<int32_t>(line), std::vector<int32_t>(line)};
  int held[2] = {-1, -1};
  const auto stretch = [&](int y) -> const int32_t* {
    const int slot = y & 1;
    if (held[slot] == y) return stretched[slot].data();
    held[slot] = y;
    const uint8_t* from = image.row(y);
    int32_t* to = stretched[slot].data();
    for (int x = 0; x < width; ++x) {
      const uint8_t *a = from + columns.first[x], *b = from + columns.second[x];
      for (int c = 0; c < channels; ++c)
        *to++ = a[c] * (one - columns.weight[x]) + b[c] * columns.weight[x];
    }
    return stretched[slot].data();
  };
  for (int y = 0; y < height; ++y) {
    const int32_t *a = stretch(rows.first[y]), *b = stretch(rows.second[y]);
    const int32_t wb = rows.weight[y], wa = one - wb;
    uint8_t* to = out.row(y);
    for (size_t i = 0; i < line; ++i) {
      to[i] =
          static_cast<uint8_t>((((wa * (a[i] >> 4)) >> 16) + ((wb * (b[i] >> 4)) >> 16) + 2) >> 2);
    }
  }
  return out;
}

}  // namespace hub
