// TIFF, its first page, through libtiff, read from memory.
#include <tiffio.h>

#include <algorithm>
#include <cstdarg>
#include <cstring>
#include <memory>

#include "base/library.h"
#include "modules/image_decode.h"

namespace hub {
namespace {

struct Libtiff {
  decltype(&::TIFFOpenOptionsAlloc) options;
  decltype(&::TIFFOpenOptionsFree) free_options;
  decltype(&::TIFFOpenOptionsSetMaxSingleMemAlloc) most_memory;
  decltype(&::TIFFOpenOptionsSetErrorHandlerExtR) on_error;
  decltype(&::TIFFOpenOptionsSetWarningHandlerExtR) on_warning;
  decltype(&::TIFFClientOpenExt) open;
  decltype(&::TIFFClose) close;
  decltype(&::TIFFGetField) field;
  decltype(&::TIFFLastDirectory) last_page;
  decltype(&::TIFFRGBAImageOK) readable;
  decltype(&::TIFFReadRGBAImageOriented) read;

  static const Libtiff& get() {
    static const Libtiff functions = [] {
      const Library library("libtiff.so.6", "TIFF files", "install libtiff 4.5 or newer");
      Libtiff f{};
      library.symbol(f.options, "TIFFOpenOptionsAlloc");
      library.symbol(f.free_options, "TIFFOpenOptionsFree");
      library.symbol(f.most_memory, "TIFFOpenOptionsSetMaxSingleMemAlloc");
      library.symbol(f.on_error, "TIFFOpenOptionsSetErrorHandlerExtR");
      library.symbol(f.on_warning, "TIFFOpenOptionsSetWarningHandlerExtR");
      library.symbol(f.open, "TIFFClientOpenExt");
      library.symbol(f.close, "TIFFClose");
      library.symbol(f.field, "TIFFGetField");
      library.symbol(f.last_page, "TIFFLastDirectory");
      library.symbol(f.readable, "TIFFRGBAImageOK");
      library.symbol(f.read, "TIFFReadRGBAImageOriented");
      return f;
    }();
    return functions;
  }
};

/// A file in memory as libtiff asks for it, and the first error that it found there.
struct Memory {
  std::string_view bytes;
  size_t at = 0;
  std::string error = {};
};

Memory& of(thandle_t handle) { return *static_cast<Memory*>(handle); }

tmsize_t read_bytes(thandle_t handle, void* to, tmsize_t size) {
  Memory& file = of(handle);
  const size_t begin = std::min(file.at, file.bytes.size());
  const size_t count = std::min(static_cast<size_t>(size), file.bytes.size() - begin);
  std::memcpy(to, file.bytes.data() + begin, count);
  file.at = begin + count;
  return static_cast<tmsize_t>(count);
}
tmsize_t write_bytes(thandle_t, void*, tmsize_t) { return -1; }
toff_t seek(thandle_t handle, toff_t to, int whence) {
  Memory& file = of(handle);
  file.at = static_cast<size_t>(to) + (whence == SEEK_CUR   ? file.at
                                       : whence == SEEK_END ? file.bytes.size()
                                                            : 0);
  return file.at;
}
toff_t size_of_file(thandle_t handle) { return of(handle).bytes.size(); }
int stay_open(thandle_t) { return 0; }
int map_file(thandle_t handle, void** base, toff_t* size) {
  *base = const_cast<char*>(of(handle).bytes.data());
  *size = of(handle).bytes.size();
  return 1;
}
void unmap_file(thandle_t, void*, toff_t) {}

int keep_error(TIFF*, void* memory, const char*, const char* format, va_list values) {
  char text[512];
  std::vsnprintf(text, sizeof text, format, values);
  std::string& error = static_cast<Memory*>(memory)->error;
  if (error.empty()) error = text;
  return 1;
}
int drop_warning(TIFF*, void*, const char*, const char*, va_list) { return 1; }

}  // namespace

Image decode_tiff(const ImageFile& file) {
  const Libtiff& lib = Libtiff::get();
  Memory memory{file.bytes};
  const std::unique_ptr<TIFFOpenOptions, decltype(lib.free_options)> options(lib.options(),
                                                                             lib.free_options);
  lib.most_memory(options.get(), (tmsize_t{16} << 20) + 16 * file.max_pixels);
  lib.on_error(options.get(), keep_error, &memory);
  lib.on_warning(options.get(), drop_warning, nullptr);
  const std::unique_ptr<TIFF, decltype(lib.close)> tiff(
      lib.open("", "r", &memory, read_bytes, write_bytes, seek, stay_open, size_of_file, map_file,
               unmap_file, options.get()),
      lib.close);
  const auto damaged = [&] {
    file.refuse("is a damaged or truncated TIFF: ", trim(printable(memory.error)));
  };
  if (!tiff) damaged();
  uint32_t width = 0, height = 0;
  if (lib.field(tiff.get(), TIFFTAG_IMAGEWIDTH, &width) != 1 ||
      lib.field(tiff.get(), TIFFTAG_IMAGELENGTH, &height) != 1)
    damaged();
  file.check_size(width, height);
  if (char why[1024] = ""; lib.readable(tiff.get(), why) == 0) {
    fail(Code::unsupported, printable(file.name),
         " is a TIFF that cannot be read: ", trim(printable(why)),
         "; save it with 8 or 16 bits a channel");
  }
  if (lib.last_page(tiff.get()) == 0)
    file.progress.note(printable(file.name) + " has more than one page; this is the first");
  uint16_t orientation = 1;
  lib.field(tiff.get(), TIFFTAG_ORIENTATION, &orientation);
  if (orientation < 1 || orientation > 8) orientation = 1;
  // Asked for as it is stored: libtiff knows flips, not turns. Colours come multiplied by alpha.
  std::vector<uint32_t> raster(size_t{width} * height);
  if (lib.read(tiff.get(), width, height, raster.data(), orientation, 1) == 0) damaged();
  const bool sheer = std::any_of(raster.begin(), raster.end(),
                                 [](uint32_t pixel) { return TIFFGetA(pixel) != 255; });
  Image image = file.make(width, height, sheer);
  uint8_t* to = image.pixels.data();
  for (const uint32_t pixel : raster) {
    const uint32_t alpha = TIFFGetA(pixel);
    for (const uint32_t color : {TIFFGetR(pixel), TIFFGetG(pixel), TIFFGetB(pixel)}) {
      const uint32_t on_white = color + 255 - alpha;
      const uint32_t bare = alpha == 0 ? color : (color * 255 + alpha / 2) / alpha;
      *to++ = static_cast<uint8_t>(std::min(file.alpha == Alpha::on_white ? on_white : bare, 255U));
    }
    if (image.channels == 4) *to++ = static_cast<uint8_t>(alpha);
  }
  return upright(std::move(image), orientation);
}

}  // namespace hub
