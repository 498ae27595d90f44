// Pictures of tests/data/media and what they should decode to.
#pragma once

#include <cstdlib>
#include <string>

#include "base/file.h"
#include "modules/image.h"
#include "runtime/import/import.h"

namespace hub {

inline std::string media_path(const std::string& name) {
  return std::string(HUB_SOURCE_DIR) + "/tests/data/media/" + name;
}

inline Image decode_media(const std::string& name, Alpha alpha = Alpha::on_white) {
  Silent silent;
  return decode_image(read_file(media_path(name)), name, silent, alpha);
}

/// The largest difference from the uint8 values [height, width(, 3)] of an .npy file; 256 when the
/// sizes differ.
inline int difference_from(const std::string& npy, const Image& image) {
  const Tensor wanted = read_npy(MappedFile::open(media_path(npy)));
  const Shape& shape = wanted.shape();
  const bool color = shape.rank() == 3;
  if (shape.rank() < 2 || shape[0] != image.height || shape[1] != image.width) return 256;
  int most = 0;
  for (size_t i = 0; i < image.pixels.size(); ++i) {
    const size_t from = color || image.channels == 1 ? i : i / 3;
    most = std::max(most, std::abs(int{wanted.data<uint8_t>()[from]} - int{image.pixels[i]}));
  }
  return most;
}

}  // namespace hub
