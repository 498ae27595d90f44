// JPEG through libjpeg: accurate integer DCT and smooth chroma, as Pillow decodes.
#include <csetjmp>
#include <cstdio>
// jpeglib.h needs stdio first.
#include <jerror.h>
#include <jpeglib.h>

#include "modules/image_decode.h"

namespace hub {
namespace {

constexpr int max_scans = 100;  // a progressive file may repeat its scans without end
constexpr size_t exif_prefix = 6;

/// libjpeg reports errors by leaving through longjmp. Every function here that sets the jump holds
/// nothing that needs a destructor, and says false when it was left.
class Jpeg {
 public:
  explicit Jpeg(std::string_view bytes) {
    info_.err = jpeg_std_error(&errors_.base);
    errors_.base.error_exit = [](j_common_ptr info) { leave(info); };
    errors_.base.emit_message = [](j_common_ptr info, int level) {
      if (level < 0 && info->err->msg_code == JWRN_JPEG_EOF) leave(info);
    };
    progress_.progress_monitor = [](j_common_ptr info) {
      if (reinterpret_cast<j_decompress_ptr>(info)->input_scan_number > max_scans) {
        ERREXIT(info, JERR_BAD_PROGRESSION);
      }
    };
    created_ = create(bytes);
  }
  ~Jpeg() { jpeg_destroy_decompress(&info_); }
  Jpeg(const Jpeg&) = delete;
  Jpeg& operator=(const Jpeg&) = delete;

  bool header() {
    if (!created_ || setjmp(errors_.jump)) return false;
    jpeg_save_markers(&info_, JPEG_APP0 + 1, 0xffff);
    jpeg_read_header(&info_, TRUE);
    return true;
  }
  bool start() {
    if (setjmp(errors_.jump)) return false;
    if (info_.num_components == 4) {
      info_.out_color_space = JCS_CMYK;
    } else {
      info_.out_color_space = info_.num_components == 1 ? JCS_GRAYSCALE : JCS_RGB;
    }
    info_.dct_method = JDCT_ISLOW;
    info_.progress = &progress_;
    jpeg_start_decompress(&info_);
    return true;
  }
  bool read_row(uint8_t* row) {
    if (setjmp(errors_.jump)) return false;
    jpeg_read_scanlines(&info_, &row, 1);
    return true;
  }

  const jpeg_decompress_struct& info() const { return info_; }
  std::string message() const {
    char text[JMSG_LENGTH_MAX];
    errors_.base.format_message(
        reinterpret_cast<j_common_ptr>(const_cast<jpeg_decompress_struct*>(&info_)), text);
    return text;
  }
  bool ended() const { return errors_.base.msg_code == JWRN_JPEG_EOF; }

 private:
  struct Errors {
    jpeg_error_mgr base;
    jmp_buf jump;
  };
  [[noreturn]] static void leave(j_common_ptr info) {
    longjmp(reinterpret_cast<Errors*>(info->err)->jump, 1);
  }
  bool create(std::string_view bytes) {
    if (setjmp(errors_.jump)) return false;
    jpeg_create_decompress(&info_);
    jpeg_mem_src(&info_, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
    return true;
  }
  jpeg_decompress_struct info_{};
  Errors errors_{};
  jpeg_progress_mgr progress_{};
  bool created_ = false;
};

/// `a` of `b` parts of 255, rounded.
int scaled(int a, int b) {
  const int t = a * b + 128;
  return ((t >> 8) + t) >> 8;
}

/// One row of 1, 3 or 4 components to RGB. Four are inverted CMYK, as Adobe's programs store it.
void to_rgb(const uint8_t* in, uint8_t* out, size_t width, int components) {
  for (size_t x = 0; x < width; ++x, in += components, out += 3) {
    for (int c = 0; c < 3; ++c) {
      const int light =
          components == 4 ? in[3] - scaled(255 - in[c], in[3]) : in[components == 1 ? 0 : c];
      out[c] = static_cast<uint8_t>(light < 0 ? 0 : light);
    }
  }
}

int orientation(const jpeg_decompress_struct& info) {
  for (auto* marker = info.marker_list; marker != nullptr; marker = marker->next) {
    const std::string_view data(reinterpret_cast<const char*>(marker->data), marker->data_length);
    if (data.starts_with(std::string_view("Exif\0\0", exif_prefix)))
      return exif_orientation(data.substr(exif_prefix));
  }
  return 1;
}

}  // namespace

Image decode_jpeg(const ImageFile& file) {
  Jpeg jpeg(file.bytes);
  const auto give_up = [&] {
    if (jpeg.ended()) file.refuse("is truncated: the JPEG ends before its last row");
    file.refuse("is a damaged JPEG: ", jpeg.message());
  };
  if (!jpeg.header()) give_up();
  const auto& info = jpeg.info();
  Image image = file.make(info.image_width, info.image_height);
  if (!jpeg.start()) give_up();
  std::vector<uint8_t> row(static_cast<size_t>(image.width) *
                           static_cast<size_t>(info.output_components));
  for (int y = 0; y < image.height; ++y) {
    if (!jpeg.read_row(row.data())) give_up();
    to_rgb(row.data(), image.row(y), static_cast<size_t>(image.width), info.output_components);
  }
  return upright(std::move(image), orientation(info));
}

}  // namespace hub
