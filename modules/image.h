// Pictures: decoding by content into upright 8-bit RGB, exact resizes, drawing, PNG out.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/progress.h"

namespace hub {

/// 8-bit pixels, interleaved, rows top to bottom; 3 channels RGB unless said otherwise.
struct Image {
  int width = 0, height = 0, channels = 3;
  std::vector<uint8_t> pixels;
  uint8_t* row(int y) { return pixels.data() + static_cast<size_t>(y) * width * channels; }
  const uint8_t* row(int y) const {
    return pixels.data() + static_cast<size_t>(y) * width * channels;
  }
};

/// keep: PNG and WebP with transparency have four channels, RGBA; in GIF it is drawn on white.
enum class Alpha { on_white, drop, keep };

/// JPEG, PNG, WebP, BMP, GIF or TIFF (first frame or page), judged by content. EXIF orientation
/// applied, CMYK, palette, grey, 16-bit and alpha turned into RGB. Throws Code::refused naming
/// `name`: not an image, truncated, or more than `max_pixels` (checked before decoding). Notes
/// (say, an animation) go to progress.
Image decode_image(std::string_view bytes, const std::string& name, Progress& progress,
                   Alpha alpha = Alpha::on_white, int64_t max_pixels = 89'478'485);

enum class Filter { bilinear, bicubic, lanczos, box };
/// As Pillow resizes: the filter's support widens when shrinking (antialias). Equal to Pillow's
/// bytes.
Image resize_pillow(const Image& image, int width, int height, Filter filter);
/// As OpenCV's INTER_LINEAR on 8-bit pictures; equal to within one step of 255.
Image resize_opencv(const Image& image, int width, int height);
/// As OpenCV's INTER_LANCZOS4, likewise.
Image resize_opencv_lanczos(const Image& image, int width, int height);
Image crop(const Image& image, int left, int top, int width, int height);

std::string encode_png(const Image& image);

}  // namespace hub
