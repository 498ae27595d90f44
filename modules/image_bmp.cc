// BMP, the uncompressed kinds: 24 and 32 bits a pixel, and 8 with a palette.
#include <cstdlib>

#include "modules/image_decode.h"

namespace hub {
namespace {

uint32_t little(std::string_view bytes, size_t at, size_t count) {
  uint32_t value = 0;
  while (count-- > 0) value = value << 8 | static_cast<uint8_t>(bytes[at + count]);
  return value;
}

}  // namespace

Image decode_bmp(const ImageFile& file) {
  constexpr size_t file_header = 14, info_header = 40;
  const std::string_view bytes = file.bytes;
  if (bytes.size() < file_header + info_header)
    file.refuse("is not an image: too short for the BMP it begins as");
  const size_t begin = little(bytes, 10, 4), header = little(bytes, 14, 4);
  const int64_t width = static_cast<int32_t>(little(bytes, 18, 4));
  const int64_t height = static_cast<int32_t>(little(bytes, 22, 4));  // negative: rows from the top
  const uint32_t bits = little(bytes, 28, 2), compression = little(bytes, 30, 4);
  if (header < info_header || header > bytes.size() || compression != 0 ||
      (bits != 8 && bits != 24 && bits != 32)) {
    file.refuse("is not an image this program reads: BMP with header ", header, ", ", bits,
                " bits a pixel, compression ", compression, "; save it as PNG");
  }
  Image image = file.make(width, std::abs(height));
  const size_t step = bits / 8, line = (static_cast<size_t>(width) * step + 3) / 4 * 4;
  if (begin > bytes.size() || bytes.size() - begin < line * static_cast<size_t>(image.height)) {
    file.refuse("is truncated: ", bytes.size(), " bytes are too few for a BMP of ", width, "x",
                image.height);
  }
  const size_t palette = file_header + header;
  const uint32_t wanted_colors = little(bytes, 46, 4);
  const size_t colors = wanted_colors == 0 || wanted_colors > 256 ? 256 : wanted_colors;
  if (bits == 8 && palette + 4 * colors > bytes.size())
    file.refuse("is truncated: the palette of the BMP is missing");
  for (int y = 0; y < image.height; ++y) {
    const int stored = height < 0 ? y : image.height - 1 - y;
    size_t at = begin + line * static_cast<size_t>(stored);
    uint8_t* to = image.row(y);
    for (int x = 0; x < image.width; ++x, at += step, to += 3) {
      const auto index = static_cast<uint8_t>(bytes[at]);
      if (bits == 8 && index >= colors) continue;
      const size_t blue = bits == 8 ? palette + size_t{4} * index : at;
      for (size_t c = 0; c < 3; ++c) to[c] = static_cast<uint8_t>(bytes[blue + 2 - c]);
    }
  }
  return image;
}

}  // namespace hub
