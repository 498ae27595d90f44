// The first frame of a GIF through giflib.
#include <gif_lib.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>

#include "modules/image_decode.h"

namespace hub {
namespace {

struct Close {
  void operator()(GifFileType* gif) const { DGifCloseFile(gif, nullptr); }
};

int read(GifFileType* gif, GifByteType* out, int size) {
  auto* left = static_cast<std::string_view*>(gif->UserData);
  const size_t count = std::min(left->size(), static_cast<size_t>(size));
  std::memcpy(out, left->data(), count);
  left->remove_prefix(count);
  return static_cast<int>(count);
}

std::string_view reason(int error) {
  const char* text = GifErrorString(error);
  return text != nullptr ? text : "unknown error";
}

class Reader {
 public:
  explicit Reader(const ImageFile& file) : file_(file), left_(file.bytes) {
    int error = 0;
    gif_.reset(DGifOpen(&left_, read, &error));
    if (!gif_) file_.refuse("is a damaged GIF: ", reason(error));
  }

  Image first_frame() {
    file_.check_size(gif_->SWidth, gif_->SHeight);
    if (!next_frame(true)) file_.refuse("is a damaged GIF: it holds no picture");
    const GifImageDesc& frame = gif_->Image;
    if (frame.Left < 0 || frame.Top < 0 || frame.Width < 1 || frame.Height < 1 ||
        frame.Left > gif_->SWidth - frame.Width || frame.Top > gif_->SHeight - frame.Height) {
      file_.refuse("is a damaged GIF: its first frame lies outside the picture");
    }
    std::vector<uint8_t> canvas(
        static_cast<size_t>(gif_->SWidth) * static_cast<size_t>(gif_->SHeight),
        static_cast<uint8_t>(transparent_ >= 0 ? transparent_ : gif_->SBackGroundColor));
    read_rows(canvas);
    return colored(canvas);
  }

  /// The frames behind the first; their pixels are skipped, and damage there ends the count.
  int more_frames() {
    int count = 0;
    while (next_frame(false) && skip_pixels()) ++count;
    return count;
  }

 private:
  /// Moves to the pixels of the next frame. Damage is refused or, when not `strict`, the end.
  bool next_frame(bool strict) {
    for (;;) {
      GifRecordType kind = UNDEFINED_RECORD_TYPE;
      bool fine = DGifGetRecordType(gif_.get(), &kind) == GIF_OK;
      if (fine && kind == TERMINATE_RECORD_TYPE) return false;
      if (fine && kind == IMAGE_DESC_RECORD_TYPE) {
        if (DGifGetImageDesc(gif_.get()) == GIF_OK) return true;
        fine = false;
      } else if (fine && kind == EXTENSION_RECORD_TYPE) {
        fine = read_extension();
      }
      if (!fine && !strict) return false;
      if (!fine) give_up();
    }
  }

  bool read_extension() {
    int code = 0;
    GifByteType* block = nullptr;  // its length first
    bool fine = DGifGetExtension(gif_.get(), &code, &block) == GIF_OK;
    while (fine && block != nullptr) {
      if (code == GRAPHICS_EXT_FUNC_CODE && block[0] >= 4)
        transparent_ = (block[1] & 1) != 0 ? block[4] : -1;
      fine = DGifGetExtensionNext(gif_.get(), &block) == GIF_OK;
    }
    return fine;
  }

  void read_rows(std::vector<uint8_t>& canvas) {
    const GifImageDesc& frame = gif_->Image;
    const auto read_row = [&](int y) {
      uint8_t* to = canvas.data() +
                    static_cast<size_t>(frame.Top + y) * static_cast<size_t>(gif_->SWidth) +
                    frame.Left;
      if (DGifGetLine(gif_.get(), to, frame.Width) != GIF_OK) give_up();
    };
    constexpr int first[] = {0, 4, 2, 1},
                  step[] = {8, 8, 4, 2};  // of the four passes of an interlaced frame
    for (int pass = 0; pass < (frame.Interlace ? 4 : 1); ++pass) {
      const int stride = frame.Interlace ? step[pass] : 1;
      for (int y = first[pass]; y < frame.Height; y += stride) read_row(y);
    }
  }

  Image colored(const std::vector<uint8_t>& canvas) const {
    const ColorMapObject* map =
        gif_->Image.ColorMap != nullptr ? gif_->Image.ColorMap : gif_->SColorMap;
    std::array<uint8_t, 4 * 256> colors{};
    for (int i = 0; i < 256; ++i) {
      uint8_t* color = colors.data() + 4 * i;
      if (map != nullptr && i < map->ColorCount) {
        color[0] = map->Colors[i].Red;
        color[1] = map->Colors[i].Green;
        color[2] = map->Colors[i].Blue;
      }
      color[3] = i == transparent_ ? 0 : 255;
    }
    std::array<uint8_t, 3 * 256> rgb{};
    flatten_alpha(colors.data(), rgb.data(), 256,
                  file_.alpha == Alpha::drop ? Alpha::drop : Alpha::on_white);
    Image image = file_.make(gif_->SWidth, gif_->SHeight);
    for (size_t i = 0; i < canvas.size(); ++i)
      std::memcpy(&image.pixels[3 * i], &rgb[size_t{3} * canvas[i]], 3);
    return image;
  }

  bool skip_pixels() {
    int size = 0;
    GifByteType* block = nullptr;
    if (DGifGetCode(gif_.get(), &size, &block) != GIF_OK) return false;
    while (block != nullptr) {
      if (DGifGetCodeNext(gif_.get(), &block) != GIF_OK) return false;
    }
    return true;
  }

  [[noreturn]] void give_up() const {
    if (left_.empty())
      file_.refuse("is truncated: the GIF ends before the last row of its first frame");
    file_.refuse("is a damaged GIF: ", reason(gif_->Error));
  }

  const ImageFile& file_;
  std::string_view left_;
  std::unique_ptr<GifFileType, Close> gif_;
  int transparent_ = -1;
};

}  // namespace

Image decode_gif(const ImageFile& file) {
  Reader reader(file);
  Image image = reader.first_frame();
  const int frames = 1 + reader.more_frames();
  if (frames > 1)
    file.progress.note(
        concat(printable(file.name), ": has ", frames, " frames, the first is used"));
  return image;
}

}  // namespace hub
