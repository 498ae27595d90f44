#include "finetune/augment.h"

#include <algorithm>
#include <cmath>

namespace hub {
namespace {

Image part(const Image& image, Random& random) {
  const double area = 0.64 + 0.36 * random.real();
  const double ratio = std::exp((random.real() * 2 - 1) * std::log(4.0 / 3));
  const auto side = [&](int whole, double share) {
    return std::clamp(static_cast<int>(std::lround(whole * share)), 1, whole);
  };
  const int width = side(image.width, std::sqrt(area * ratio));
  const int height = side(image.height, std::sqrt(area / ratio));
  const auto from = [&](int slack) {
    return static_cast<int>(random.below(static_cast<uint64_t>(slack) + 1));
  };
  const int left = from(image.width - width), top = from(image.height - height);
  return crop(image, left, top, width, height);
}

void flip(Image& image) {
  for (int y = 0; y < image.height; ++y) {
    uint8_t* row = image.row(y);
    for (int a = 0, b = image.width - 1; a < b; ++a, --b)
      std::swap_ranges(row + a * image.channels, row + (a + 1) * image.channels,
                       row + b * image.channels);
  }
}

}  // namespace

Image augmented(const Image& image, const std::string& how, Random random) {
  Image out = how.find("crop") != how.npos ? part(image, random) : image;
  if (how.find("flip") != how.npos && random.next() % 2 == 0) flip(out);
  return out;
}

}  // namespace hub
