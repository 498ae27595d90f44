// PNG in and out through libpng.
#include <png.h>

#include <cstring>
#include <memory>

#include "modules/image_decode.h"

namespace hub {
namespace {

/// libpng reports errors by leaving through longjmp. Every function here that sets the jump holds
/// nothing that needs a destructor, and says false when it was left.
class PngReader {
 public:
  explicit PngReader(std::string_view bytes) : left_(bytes) {
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, on_error,
                                  [](png_structp, png_const_charp) {});
    if (png_ != nullptr) info_ = png_create_info_struct(png_);
  }
  ~PngReader() { png_destroy_read_struct(&png_, &info_, nullptr); }
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;

  /// Up to the first row; from then on rows are 8-bit RGB, or RGBA when has_alpha.
  bool header() {
    if (info_ == nullptr || setjmp(png_jmpbuf(png_))) return false;
    png_set_read_fn(png_, this, read);
    png_set_user_limits(png_, 0x7fffffff, 0x7fffffff);  // the caller looks at the size
    constexpr png_byte skipped[] = "iCCP\0tEXt\0zTXt\0iTXt\0sPLT\0hIST";
    png_set_keep_unknown_chunks(png_, PNG_HANDLE_CHUNK_NEVER, skipped, 6);
    png_read_info(png_, info_);
    return true;
  }
  bool start() {
    if (setjmp(png_jmpbuf(png_))) return false;
    has_alpha = (png_get_color_type(png_, info_) & PNG_COLOR_MASK_ALPHA) != 0 ||
                png_get_valid(png_, info_, PNG_INFO_tRNS) != 0;
    png_set_expand(png_);
    png_set_strip_16(png_);
    png_set_gray_to_rgb(png_);
    passes = png_set_interlace_handling(png_);
    png_read_update_info(png_, info_);
    return true;
  }
  bool read_row(uint8_t* row) {
    if (setjmp(png_jmpbuf(png_))) return false;
    png_read_row(png_, row, nullptr);
    return true;
  }
  int64_t width() const { return png_get_image_width(png_, info_); }
  int64_t height() const { return png_get_image_height(png_, info_); }
  std::string_view exif() const {
    png_bytep data = nullptr;
    png_uint_32 size = 0;
    if (png_get_eXIf_1(png_, info_, &size, &data) == 0) return {};
    return {reinterpret_cast<const char*>(data), size};
  }

  bool has_alpha = false;
  int passes = 1;
  bool truncated = false;
  std::string message;

 private:
  [[noreturn]] static void on_error(png_structp png, png_const_charp text) {
    static_cast<PngReader*>(png_get_error_ptr(png))->message = text;
    png_longjmp(png, 1);
  }
  static void read(png_structp png, png_bytep out, size_t size) {
    auto* self = static_cast<PngReader*>(png_get_io_ptr(png));
    if (self->left_.size() < size) {
      self->truncated = true;
      png_error(png, "truncated");
    }
    std::memcpy(out, self->left_.data(), size);
    self->left_.remove_prefix(size);
  }
  std::string_view left_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
};

bool write_rows(png_structp png, png_infop info, const Image& image, std::string& out) {
  if (setjmp(png_jmpbuf(png))) return false;
  const auto append = [](png_structp p, png_bytep data, size_t size) {
    static_cast<std::string*>(png_get_io_ptr(p))->append(reinterpret_cast<const char*>(data), size);
  };
  png_set_write_fn(png, &out, append, nullptr);
  const int color = image.channels == 1   ? PNG_COLOR_TYPE_GRAY
                    : image.channels == 3 ? PNG_COLOR_TYPE_RGB
                                          : PNG_COLOR_TYPE_RGB_ALPHA;
  png_set_IHDR(png, info, static_cast<png_uint_32>(image.width),
               static_cast<png_uint_32>(image.height), 8, color, PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_set_compression_level(png, 1);
  png_set_filter(png, PNG_FILTER_TYPE_BASE, PNG_FILTER_SUB);
  png_write_info(png, info);
  for (int y = 0; y < image.height; ++y) png_write_row(png, image.row(y));
  png_write_end(png, info);
  return true;
}

}  // namespace

Image decode_png(const ImageFile& file) {
  PngReader png(file.bytes);
  const auto give_up = [&] {
    if (png.truncated) file.refuse("is truncated: the PNG ends before its last row");
    file.refuse("is a damaged PNG: ", png.message);
  };
  if (!png.header()) give_up();
  file.check_size(png.width(), png.height());
  if (!png.start()) give_up();
  Image image = file.make(png.width(), png.height(), png.has_alpha);
  const size_t line = static_cast<size_t>(image.width) * (png.has_alpha ? 4 : 3);
  // Passes of an interlaced picture fill the same rows again and again; alpha is taken out at the
  // end.
  std::vector<uint8_t> rows(
      png.has_alpha ? line * static_cast<size_t>(png.passes > 1 ? image.height : 1) : 0);
  const auto row = [&](int y) {
    if (!png.has_alpha) return image.row(y);
    return rows.data() + (png.passes > 1 ? line * static_cast<size_t>(y) : 0);
  };
  for (int pass = 0; pass < png.passes; ++pass) {
    for (int y = 0; y < image.height; ++y) {
      if (!png.read_row(row(y))) give_up();
      if (png.has_alpha && pass + 1 == png.passes) {
        flatten_alpha(row(y), image.row(y), static_cast<size_t>(image.width), file.alpha);
      }
    }
  }
  return upright(std::move(image), exif_orientation(png.exif()));
}

std::string encode_png(const Image& image) {
  if (image.width < 1 || image.height < 1 || image.channels < 1 || image.channels > 4 ||
      image.channels == 2) {
    fail(Code::usage, "no PNG of ", image.width, "x", image.height, " with ", image.channels,
         " channels");
  }
  std::string out;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png == nullptr ? nullptr : png_create_info_struct(png);
  const bool written = info != nullptr && write_rows(png, info, image, out);
  png_destroy_write_struct(&png, &info);
  if (!written)
    fail(Code::storage, "libpng could not write a picture of ", image.width, "x", image.height);
  return out;
}

}  // namespace hub
