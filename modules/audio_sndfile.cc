// WAV, FLAC and Ogg through libsndfile: from memory and block by block, so that what a header
// claims allocates nothing.
#include <sndfile.h>

#include <algorithm>
#include <cstring>
#include <mutex>

#include "base/library.h"
#include "modules/audio_decode.h"

namespace hub {
namespace {

struct SndFile {
  decltype(&::sf_open_virtual) open_virtual;
  decltype(&::sf_close) close;
  decltype(&::sf_readf_float) readf_float;
  decltype(&::sf_error) error;
  decltype(&::sf_strerror) strerror;

  static const SndFile& get() {
    static const SndFile functions = [] {
      const Library library("libsndfile.so.1", "sounds", "install libsndfile 1.1 or newer");
      SndFile f{};
      library.symbol(f.open_virtual, "sf_open_virtual");
      library.symbol(f.close, "sf_close");
      library.symbol(f.readf_float, "sf_readf_float");
      library.symbol(f.error, "sf_error");
      library.symbol(f.strerror, "sf_strerror");
      return f;
    }();
    return functions;
  }
};

/// A file in memory as libsndfile reads it.
struct Memory {
  std::string_view bytes;
  sf_count_t at = 0;

  static sf_count_t length(void* self) {
    return static_cast<sf_count_t>(static_cast<Memory*>(self)->bytes.size());
  }
  static sf_count_t seek(sf_count_t offset, int whence, void* self) {
    auto& m = *static_cast<Memory*>(self);
    const sf_count_t from = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? m.at : length(self);
    sf_count_t to = 0;
    if (__builtin_add_overflow(from, offset, &to) || to < 0) return -1;
    return m.at = to;
  }
  static sf_count_t read(void* to, sf_count_t count, void* self) {
    auto& m = *static_cast<Memory*>(self);
    const sf_count_t left = std::max<sf_count_t>(length(self) - m.at, 0);
    const sf_count_t n = std::clamp<sf_count_t>(count, 0, left);
    if (n > 0) std::memcpy(to, m.bytes.data() + m.at, static_cast<size_t>(n));
    m.at += n;
    return n;
  }
  static sf_count_t tell(void* self) { return static_cast<Memory*>(self)->at; }
};

class Decoder {
 public:
  explicit Decoder(AudioFile& file) : file_(file), memory_{file.bytes} {
    SF_VIRTUAL_IO io{Memory::length, Memory::seek, Memory::read, nullptr, Memory::tell};
    static std::mutex last_error;  // of files that do not open; the library has one for all
    const std::lock_guard lock(last_error);
    open_ = lib_.open_virtual(&io, SFM_READ, &info_, &memory_);
    if (open_ == nullptr) damaged();
  }
  ~Decoder() { lib_.close(open_); }
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  void run() {
    file_.set_rate(info_.samplerate);
    if (info_.channels < 1 || info_.channels > 1024)
      file_.refuse("has ", info_.channels, " channels, wanted 1 to 1024");
    const auto channels = static_cast<size_t>(info_.channels);
    constexpr sf_count_t block = 4096;
    std::vector<float> frames(block * channels);
    for (sf_count_t n = 0; (n = lib_.readf_float(open_, frames.data(), block)) > 0;)
      file_.add(frames.data(), static_cast<size_t>(n), channels);
    if (lib_.error(open_) != 0) damaged();
    const bool flac = (info_.format & SF_FORMAT_TYPEMASK) == SF_FORMAT_FLAC;
    if (flac && info_.frames != SF_COUNT_MAX) file_.check_count(info_.frames);
  }

 private:
  [[noreturn]] void damaged() const {
    file_.refuse("is damaged or cut: ", trim(printable(lib_.strerror(open_))), ", after ",
                 file_.audio.samples.size(), " samples");
  }

  const SndFile& lib_ = SndFile::get();
  AudioFile& file_;
  Memory memory_;
  SF_INFO info_{};
  SNDFILE* open_ = nullptr;
};

}  // namespace

void decode_sndfile(AudioFile& file) { Decoder(file).run(); }

}  // namespace hub
