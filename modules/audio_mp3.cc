// MP3 through libmpg123, fed from memory. libsndfile reads it with the same library, which then
// complains on standard error.
#include <mpg123.h>

#include <algorithm>
#include <memory>

#include "base/library.h"
#include "modules/audio_decode.h"

namespace hub {
namespace {

struct Mpg123 {
  decltype(&::mpg123_new) create;
  decltype(&::mpg123_delete) destroy;
  decltype(&::mpg123_param2) param;
  decltype(&::mpg123_open_feed) open_feed;
  decltype(&::mpg123_decode) decode;
  decltype(&::mpg123_getformat) getformat;
  decltype(&::mpg123_length) length;
  decltype(&::mpg123_strerror) strerror;

  static const Mpg123& get() {
    static const Mpg123 functions = [] {
      const Library library("libmpg123.so.0", "MP3 files", "install libmpg123 1.26 or newer");
      Mpg123 f{};
      library.symbol(f.create, "mpg123_new");
      library.symbol(f.destroy, "mpg123_delete");
      library.symbol(f.param, "mpg123_param2");
      library.symbol(f.open_feed, "mpg123_open_feed");
      library.symbol(f.decode, "mpg123_decode");
      library.symbol(f.getformat, "mpg123_getformat");
      library.symbol(f.length, "mpg123_length");
      library.symbol(f.strerror, "mpg123_strerror");
      return f;
    }();
    return functions;
  }
};

}  // namespace

void decode_mp3(AudioFile& file) {
  const Mpg123& lib = Mpg123::get();
  const std::unique_ptr<mpg123_handle, decltype(lib.destroy)> mp3(lib.create(nullptr, nullptr),
                                                                  lib.destroy);
  constexpr long flags = MPG123_QUIET | MPG123_FORCE_FLOAT | MPG123_GAPLESS | MPG123_SKIP_ID3V2;
  // Tags of any length may stand behind the sound: no limit to what is skipped.
  if (!mp3 || lib.param(mp3.get(), MPG123_FLAGS, flags, 0) != MPG123_OK ||
      lib.param(mp3.get(), MPG123_RESYNC_LIMIT, -1, 0) != MPG123_OK ||
      lib.open_feed(mp3.get()) != MPG123_OK) {
    fail(Code::unsupported, "libmpg123 does not start");
  }
  std::vector<float> frames(8192);
  size_t at = 0, fed = 0, channels = 0;
  for (int state = MPG123_NEED_MORE; state != MPG123_DONE;) {
    if (state == MPG123_NEED_MORE) {
      fed = std::min<size_t>(file.bytes.size() - at, 1 << 16);
      if (fed == 0) break;
    }
    size_t got = 0;
    state = lib.decode(mp3.get(), reinterpret_cast<const unsigned char*>(file.bytes.data()) + at,
                       fed, frames.data(), frames.size() * sizeof(float), &got);
    at += fed;
    fed = 0;
    if (state == MPG123_NEW_FORMAT) {
      long rate = 0;
      int count = 0, encoding = 0;
      lib.getformat(mp3.get(), &rate, &count, &encoding);
      file.set_rate(rate);
      if (encoding != MPG123_ENC_FLOAT_32 || count < 1 || count > 2)
        fail(Code::unsupported, "libmpg123 gives ", count, " channels of kind ", encoding);
      channels = static_cast<size_t>(count);
    } else if (state == MPG123_ERR) {
      file.refuse("is damaged: ", trim(printable(lib.strerror(mp3.get()))), ", after ",
                  file.audio.samples.size(), " samples");
    }
    if (got > 0 && channels > 0) file.add(frames.data(), got / sizeof(float) / channels, channels);
  }
  file.check_count(lib.length(mp3.get()));
}

}  // namespace hub
