// EXIF orientation: reading the one tag (TIFF 6.0, tag 0x0112), and turning pictures upright.
#include "modules/image_decode.h"

namespace hub {
namespace {

/// Numbers of a TIFF block in its byte order; 0 beyond the end.
class Tiff {
 public:
  explicit Tiff(std::string_view bytes) : bytes_(bytes), little_(bytes.starts_with("II")) {}
  bool valid() const { return (little_ || bytes_.starts_with("MM")) && u16(2) == 42; }
  uint32_t u16(size_t at) const {
    return little_ ? u8(at) | u8(at + 1) << 8 : u8(at) << 8 | u8(at + 1);
  }
  uint32_t u32(size_t at) const {
    return little_ ? u16(at) | u16(at + 2) << 16 : u16(at) << 16 | u16(at + 2);
  }

 private:
  uint32_t u8(size_t at) const { return at < bytes_.size() ? static_cast<uint8_t>(bytes_[at]) : 0; }
  std::string_view bytes_;
  bool little_;
};

}  // namespace

int exif_orientation(std::string_view tiff) {
  const Tiff block(tiff);
  if (!block.valid()) return 1;
  const size_t folder = block.u32(4);
  const uint32_t entries = block.u16(folder);
  for (uint32_t i = 0; i < entries; ++i) {
    const size_t entry = folder + 2 + size_t{12} * i;
    if (entry + 12 > tiff.size()) break;
    if (block.u16(entry) != 0x0112) continue;
    const uint32_t kind = block.u16(entry + 2);
    const uint32_t value = kind == 3 ? block.u16(entry + 8) : kind == 4 ? block.u32(entry + 8) : 0;
    return value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
  }
  return 1;
}

Image upright(Image image, int orientation) {
  if (orientation <= 1) return image;
  // 5 to 8 swap the axes; of the stored picture, 2 3 7 8 run the columns and 3 4 6 7 the rows
  // backwards.
  const bool swap = orientation >= 5;
  const bool back_x = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
  const bool back_y = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
  const auto channels = static_cast<size_t>(image.channels);
  Image out = image;
  if (swap) std::swap(out.width, out.height);
  for (int y = 0; y < out.height; ++y) {
    uint8_t* to = out.row(y);
    for (int x = 0; x < out.width; ++x, to += channels) {
      const int across = swap ? y : x, down = swap ? x : y;
      const uint8_t* from =
          image.row(back_y ? image.height - 1 - down : down) +
          channels * static_cast<size_t>(back_x ? image.width - 1 - across : across);
      for (size_t c = 0; c < channels; ++c) to[c] = from[c];
    }
  }
  return out;
}

}  // namespace hub
