// Pictures: which decoder a file needs, and what all of them share.
#include "modules/image.h"

#include <algorithm>
#include <cstring>

#include "modules/image_decode.h"

namespace hub {

void ImageFile::check_size(int64_t width, int64_t height) const {
  if (width < 1 || height < 1) refuse("is damaged: a picture of ", width, "x", height, " pixels");
  if (height > max_pixels / width) {
    refuse("has ", width, "x", height, " pixels, above the limit of ", max_pixels,
           "; shrink it first");
  }
}

Image ImageFile::make(int64_t width, int64_t height, bool has_alpha) const {
  check_size(width, height);
  const int channels = has_alpha && alpha == Alpha::keep ? 4 : 3;
  Image image{.width = static_cast<int>(width),
              .height = static_cast<int>(height),
              .channels = channels,
              .pixels = {}};
  image.pixels.resize(static_cast<size_t>(width) * static_cast<size_t>(height) *
                      static_cast<size_t>(channels));
  return image;
}

void flatten_alpha(const uint8_t* rgba, uint8_t* out, size_t count, Alpha alpha) {
  if (alpha == Alpha::keep) {
    std::memcpy(out, rgba, 4 * count);
    return;
  }
  for (size_t i = 0; i < count; ++i, rgba += 4, out += 3) {
    const int a = alpha == Alpha::drop ? 255 : rgba[3];
    for (int c = 0; c < 3; ++c)
      out[c] = static_cast<uint8_t>((rgba[c] * a + 255 * (255 - a) + 127) / 255);
  }
}

Image decode_image(std::string_view bytes, const std::string& name, Progress& progress, Alpha alpha,
                   int64_t max_pixels) {
  using namespace std::string_view_literals;
  const ImageFile file{bytes, name, progress, alpha, max_pixels};
  if (bytes.starts_with("\xff\xd8\xff"sv)) return decode_jpeg(file);
  if (bytes.starts_with("\x89PNG\r\n\x1a\n"sv)) return decode_png(file);
  if (bytes.starts_with("RIFF"sv) && bytes.substr(0, 12).ends_with("WEBP"sv))
    return decode_webp(file);
  if (bytes.starts_with("GIF87a"sv) || bytes.starts_with("GIF89a"sv)) return decode_gif(file);
  if (bytes.starts_with("BM"sv)) return decode_bmp(file);
  for (const auto kind : {"II*\0"sv, "MM\0*"sv, "II+\0"sv, "MM\0+"sv})
    if (bytes.starts_with(kind)) return decode_tiff(file);
  if (bytes.empty()) file.refuse("is not an image: it is empty");
  file.refuse("is not an image: it begins with '", printable(bytes.substr(0, 12)),
              "'; wanted JPEG, PNG, WebP, BMP, GIF or TIFF");
}

Image crop(const Image& image, int left, int top, int width, int height) {
  if (left < 0 || top < 0 || width < 1 || height < 1 || left > image.width - width ||
      top > image.height - height) {
    fail(Code::usage, "cannot cut ", width, "x", height, " at ", left, ",", top, " out of ",
         image.width, "x", image.height);
  }
  Image out{.width = width, .height = height, .channels = image.channels, .pixels = {}};
  const size_t line = static_cast<size_t>(width) * image.channels;
  out.pixels.resize(line * height);
  for (int y = 0; y < height; ++y) {
    std::memcpy(out.row(y), image.row(top + y) + static_cast<size_t>(left) * image.channels, line);
  }
  return out;
}

}  // namespace hub
