// What the decoders of picture formats share; private to modules/image*.cc.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "base/text.h"
#include "modules/image.h"

namespace hub {

/// A file to decode and how.
struct ImageFile {
  std::string_view bytes;
  const std::string& name;
  Progress& progress;
  Alpha alpha;
  int64_t max_pixels;

  /// Throws Code::refused: "<name> <why>".
  template <class... Parts>
  [[noreturn]] void refuse(const Parts&... why) const {
    fail(Code::refused, printable(name), " ", why...);
  }
  /// Refuses sizes outside the limit; to be called before anything of that size is allocated.
  void check_size(int64_t width, int64_t height) const;
  /// A checked picture of zeros: RGB, or RGBA when it has transparency that is kept.
  Image make(int64_t width, int64_t height, bool has_alpha = false) const;
};

Image decode_jpeg(const ImageFile& file);
Image decode_png(const ImageFile& file);
Image decode_webp(const ImageFile& file);
Image decode_bmp(const ImageFile& file);
Image decode_gif(const ImageFile& file);
Image decode_tiff(const ImageFile& file);

/// `count` RGBA pixels to RGB, or as they are where alpha is kept.
void flatten_alpha(const uint8_t* rgba, uint8_t* out, size_t count, Alpha alpha);

/// The orientation, 1 to 8, that an EXIF block (a TIFF header first) tells; 1 when it tells none
/// that is valid.
int exif_orientation(std::string_view tiff);
/// The picture turned upright.
Image upright(Image image, int orientation);

}  // namespace hub
