// From a picture to the numbers of a network: which resize, which channel first, mean and scale; as
// a manifest's preprocess says it.
#pragma once

#include "hub/fields.h"
#include "modules/image.h"
#include "runtime/runtime.h"

namespace hub {

using Resizer = Image (*)(const Image& image, int width, int height);

/// The key "resize": pillow-bilinear, -bicubic, -lanczos, -box, opencv-bilinear, -lanczos.
Resizer read_resizer(Fields& fields);

class PixelRule {
 public:
  PixelRule() = default;
  /// The keys channels ("rgb" or "bgr"), mean and scale, three numbers each in that order of
  /// channels: a number of the network is (pixel - mean) * scale.
  explicit PixelRule(Fields& fields);

  /// Writes the planes [3, height, width]; what is right of the picture or below it is 0.
  void put(const Image& image, float* planes, int width, int height) const;
  /// Writes [image.height, image.width, 3]: the channels of a pixel side by side.
  void put_interleaved(const Image& image, float* pixels) const;

 private:
  bool bgr_ = false;
  float values_[3][256] = {};
};

/// A network that takes pictures of one size, stretched to it: the keys resize, width, height (8 to
/// 4096) and those of PixelRule.
struct StretchRule {
  Resizer resize = nullptr;
  int width = 0, height = 0;
  PixelRule pixels;

  StretchRule() = default;
  explicit StretchRule(Fields& fields);
  size_t plane() const { return static_cast<size_t>(width) * static_cast<size_t>(height); }
  Image stretched(const Image& image) const { return resize(image, width, height); }
};

/// How many pictures one run of the network takes: as many as it was exported with or, where it
/// takes any number, `wanted`; at least 1.
size_t rows_of(const Session& network, size_t wanted);

}  // namespace hub
