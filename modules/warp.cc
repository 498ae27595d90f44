// Cutting slanted boxes out of pictures, and quarter turns. As OpenCV's warpPerspective with
// INTER_CUBIC and BORDER_REPLICATE: cubic with a = -0.75.
#include <algorithm>
#include <array>
#include <cmath>

#include "modules/geometry.h"

namespace hub {

namespace {

/// The map (x, y) -> ((m0 x + m1 y + m2) / w, (m3 x + m4 y + m5) / w), w = m6 x + m7 y + 1, that
/// takes the corners of the rectangle width x height to those of the quad.
std::array<double, 8> homography(const Quad& quad, double width, double height) {
  // Solved for the unit square first, in closed form; then the axes are scaled.
  const auto [a, b, c, d] = quad;
  const double sx = double{a.x} - b.x + c.x - d.x, sy = double{a.y} - b.y + c.y - d.y;
  const double bx = double{b.x} - c.x, by = double{b.y} - c.y, dx = double{d.x} - c.x,
               dy = double{d.y} - c.y;
  const double scale = bx * dy - dx * by;
  const double g = scale == 0 ? 0 : (sx * dy - dx * sy) / scale;
  const double h = scale == 0 ? 0 : (bx * sy - sx * by) / scale;
  return {(b.x - a.x + g * b.x) / width,
          (d.x - a.x + h * d.x) / height,
          a.x,
          (b.y - a.y + g * b.y) / width,
          (d.y - a.y + h * d.y) / height,
          a.y,
          g / width,
          h / height};
}

/// Of the four pixels around a position, `t` of the way from the second to the third.
std::array<float, 4> cubic_weights(float t) {
  constexpr float a = -0.75f;
  const auto near = [](float x) { return ((a + 2) * x - (a + 3)) * x * x + 1; };
  const auto far = [](float x) { return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a; };
  return {far(1 + t), near(t), near(1 - t), far(2 - t)};
}

}  // namespace

Image warp(const Image& image, const Quad& corners, int width, int height) {
  const auto m = homography(corners, width, height);
  const size_t channels = static_cast<size_t>(image.channels);
  Image out{width, height, image.channels, {}};
  out.pixels.resize(static_cast<size_t>(width) * height * channels);
  for (int y = 0; y < height; ++y) {
    uint8_t* pixel = out.row(y);
    for (int x = 0; x < width; ++x, pixel += channels) {
      const double w = m[6] * x + m[7] * y + 1;
      const double scale = w == 0 ? 0 : 1 / w;
      const double px = std::clamp((m[0] * x + m[1] * y + m[2]) * scale, -1e8, 1e8);
      const double py = std::clamp((m[3] * x + m[4] * y + m[5]) * scale, -1e8, 1e8);
      const int left = static_cast<int>(std::floor(px)) - 1,
                top = static_cast<int>(std::floor(py)) - 1;
      const auto across = cubic_weights(static_cast<float>(px - left - 1));
      const auto down = cubic_weights(static_cast<float>(py - top - 1));
      std::array<float, 4> sums{};
      for (int j = 0; j < 4; ++j) {
        const uint8_t* row = image.row(std::clamp(top + j, 0, image.height - 1));
        for (int i = 0; i < 4; ++i) {
          const float weight = across[static_cast<size_t>(i)] * down[static_cast<size_t>(j)];
          const uint8_t* from =
              row + static_cast<size_t>(std::clamp(left + i, 0, image.width - 1)) * channels;
          for (size_t c = 0; c < channels; ++c) sums[c] += weight * from[c];
        }
      }
      for (size_t c = 0; c < channels; ++c) {
        pixel[c] = static_cast<uint8_t>(std::clamp(std::nearbyint(sums[c]), 0.0f, 255.0f));
      }
    }
  }
  return out;
}

Image turned_left(const Image& image) {
  Image out{image.height, image.width, image.channels, {}};
  out.pixels.resize(image.pixels.size());
  for (int y = 0; y < out.height; ++y) {
    for (int x = 0; x < out.width; ++x) {
      const uint8_t* from = image.row(x) + (image.width - 1 - y) * image.channels;
      std::copy_n(from, image.channels, out.row(y) + x * image.channels);
    }
  }
  return out;
}

Image turned_over(const Image& image) {
  Image out = image;
  const int count = image.width * image.height;
  for (int i = 0; i < count; ++i) {
    std::copy_n(image.pixels.data() + static_cast<size_t>(i) * image.channels, image.channels,
                out.pixels.data() + static_cast<size_t>(count - 1 - i) * image.channels);
  }
  return out;
}

}  // namespace hub
