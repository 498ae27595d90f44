#include "modules/made_picture.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace hub {
namespace {

void check_numbers(const Tensor& numbers, const Shape& wanted, const std::string& module) {
  if (numbers.dtype() != DType::f32 || numbers.shape() != wanted)
    fail(Code::refused, module, ": the network gives ", numbers.spec().str(), ", wanted float32",
         wanted.str(), ", a picture");
}

/// Mean of each of the first three channels.
json mean_color(const Image& image, const Area& area) {
  double sums[3] = {};
  for (int y = area.top; y < area.top + area.height; ++y) {
    const uint8_t* pixel = image.row(y) + static_cast<ptrdiff_t>(area.left) * image.channels;
    for (int x = 0; x < area.width; ++x, pixel += image.channels)
      for (int c = 0; c < 3; ++c) sums[c] += pixel[c];
  }
  const double count = std::max(1.0, static_cast<double>(area.width) * area.height);
  return {sums[0] / count, sums[1] / count, sums[2] / count};
}

double contrast(const Image& image) {
  int64_t sum = 0;
  for (int y = 0; y < image.height; ++y) {
    const uint8_t* pixel = image.row(y);
    for (int x = 1; x < image.width; ++x, pixel += image.channels)
      for (int c = 0; c < 3; ++c) sum += std::abs(pixel[c] - pixel[c + image.channels]);
  }
  const double count = 3.0 * std::max(1, image.width - 1) * std::max(1, image.height);
  return static_cast<double>(sum) / count;
}

}  // namespace

PictureNumbers planes_of(const Tensor& numbers, int width, int height, const std::string& module) {
  check_numbers(numbers, {1, 3, height, width}, module);
  const auto row = static_cast<size_t>(width);
  return {numbers.data<float>(), 1, row, row * static_cast<size_t>(height)};
}

PictureNumbers interleaved_of(const Tensor& numbers, int width, int height,
                              const std::string& module) {
  check_numbers(numbers, {1, height, width, 3}, module);
  return {numbers.data<float>(), 3, 3 * static_cast<size_t>(width), 1};
}

void put_numbers(const PictureNumbers& from, Image& to, const Area& area,
                 const std::string& sample) {
  const auto channels = static_cast<size_t>(to.channels);
  for (int y = 0; y < area.height; ++y) {
    const float* line = from.first + static_cast<size_t>(y) * from.row;
    uint8_t* pixel = to.row(area.top + y) + static_cast<size_t>(area.left) * channels;
    for (int x = 0; x < area.width; ++x, pixel += channels, line += from.column) {
      for (size_t c = 0; c < 3; ++c) {
        const float value = line[c * from.channel];
        if (std::isnan(value))
          fail(Code::numeric, sample, ": the network gave a pixel that is not a number");
        pixel[c] = static_cast<uint8_t>(std::clamp(value, 0.0F, 1.0F) * 255.0F + 0.5F);
      }
    }
  }
}

json picture_output(const Image& image) {
  json colors = json::array();
  const auto cut = [](int size, int i) { return static_cast<int>(int64_t{size} * i / 3); };
  for (int y = 0; y < 3; ++y) {
    for (int x = 0; x < 3; ++x) {
      const Area area{cut(image.width, x), cut(image.height, y),
                      cut(image.width, x + 1) - cut(image.width, x),
                      cut(image.height, y + 1) - cut(image.height, y)};
      colors.push_back(mean_color(image, area));
    }
  }
  return {{"width", image.width},
          {"height", image.height},
          {"colors", std::move(colors)},
          {"detail", contrast(image)}};
}

}  // namespace hub
