// WebP stills through libwebp.
#include <webp/decode.h>

#include "modules/image_decode.h"

namespace hub {
namespace {

/// The payload of the chunk called so in a RIFF file, or nothing.
std::string_view riff_chunk(std::string_view bytes, std::string_view name) {
  size_t at = 12;
  while (at + 8 <= bytes.size()) {
    uint32_t size = 0;
    for (int i = 3; i >= 0; --i)
      size = size << 8 | static_cast<uint8_t>(bytes[at + 4 + static_cast<size_t>(i)]);
    if (bytes.substr(at, 4) == name) return bytes.substr(at + 8, size);
    at += 8 + size_t{size} + (size & 1);
  }
  return {};
}

}  // namespace

Image decode_webp(const ImageFile& file) {
  const auto* data = reinterpret_cast<const uint8_t*>(file.bytes.data());
  const size_t size = file.bytes.size();
  WebPBitstreamFeatures features;
  if (WebPGetFeatures(data, size, &features) != VP8_STATUS_OK)
    file.refuse("is a damaged or truncated WebP");
  if (features.has_animation != 0) {
    fail(Code::unsupported, printable(file.name),
         " is an animated WebP; save one frame of it as PNG");
  }
  Image image = file.make(features.width, features.height, features.has_alpha != 0);
  const auto pixels = static_cast<size_t>(image.width) * static_cast<size_t>(image.height);
  const int stride = image.width * (features.has_alpha != 0 ? 4 : 3);
  bool whole = false;
  if (features.has_alpha != 0) {
    std::vector<uint8_t> rgba(pixels * 4);
    whole = WebPDecodeRGBAInto(data, size, rgba.data(), rgba.size(), stride) != nullptr;
    flatten_alpha(rgba.data(), image.pixels.data(), pixels, file.alpha);
  } else {
    whole =
        WebPDecodeRGBInto(data, size, image.pixels.data(), image.pixels.size(), stride) != nullptr;
  }
  if (!whole) file.refuse("is a damaged or truncated WebP");
  std::string_view exif = riff_chunk(file.bytes, "EXIF");
  if (exif.starts_with("Exif")) exif.remove_prefix(std::min<size_t>(6, exif.size()));
  return upright(std::move(image), exif_orientation(exif));
}

}  // namespace hub
