#include "modules/pixels.h"

#include <algorithm>

namespace hub {
namespace {

template <Filter filter>
Image pillow(const Image& image, int width, int height) {
  return resize_pillow(image, width, height, filter);
}

struct Named {
  const char* name;
  Resizer resize;
};
constexpr Named resizers[] = {
    {"pillow-bilinear", pillow<Filter::bilinear>},
    {"pillow-bicubic", pillow<Filter::bicubic>},
    {"pillow-lanczos", pillow<Filter::lanczos>},
    {"pillow-box", pillow<Filter::box>},
    {"opencv-bilinear", resize_opencv},
    {"opencv-lanczos", resize_opencv_lanczos},
};

}  // namespace

Resizer read_resizer(Fields& fields) {
  std::vector<std::string> names;
  for (const Named& named : resizers) names.emplace_back(named.name);
  const std::string name = fields.choice("resize", names);
  return std::find_if(std::begin(resizers), std::end(resizers),
                      [&](const Named& named) { return name == named.name; })
      ->resize;
}

PixelRule::PixelRule(Fields& fields) : bgr_(fields.choice("channels", {"rgb", "bgr"}) == "bgr") {
  const auto mean = fields.numbers("mean", 3), scale = fields.numbers("scale", 3);
  for (size_t c = 0; c < 3; ++c) {
    for (int v = 0; v < 256; ++v) values_[c][v] = static_cast<float>((v - mean[c]) * scale[c]);
  }
}

void PixelRule::put(const Image& image, float* planes, int width, int height) const {
  for (size_t c = 0; c < 3; ++c) {
    for (int y = 0; y < height; ++y, planes += width) {
      const int shown = y < image.height ? std::min(image.width, width) : 0;
      const uint8_t* from = shown > 0 ? image.row(y) + (bgr_ ? 2 - c : c) : nullptr;
      for (int x = 0; x < shown; ++x) planes[x] = values_[c][from[3 * x]];
      std::fill(planes + shown, planes + width, 0.0F);
    }
  }
}

void PixelRule::put_interleaved(const Image& image, float* pixels) const {
  for (size_t i = 0; i < image.pixels.size(); i += 3) {
    for (size_t c = 0; c < 3; ++c) *pixels++ = values_[c][image.pixels[i + (bgr_ ? 2 - c : c)]];
  }
}

StretchRule::StretchRule(Fields& fields)
    : resize(read_resizer(fields)),
      width(static_cast<int>(fields.integer("width", 8, 4096))),
      height(static_cast<int>(fields.integer("height", 8, 4096))),
      pixels(fields) {}

size_t rows_of(const Session& network, size_t wanted) {
  const Shape& shape = network.program()[network.program().inputs.at(0)].declared.shape;
  const int64_t fixed = shape.rank() == 4 ? shape[0] : -1;
  return fixed > 0 ? static_cast<size_t>(fixed) : std::max<size_t>(wanted, 1);
}

}  // namespace hub
