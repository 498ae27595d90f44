// Whether a file of sound has its end.
#include <cstdint>

#include "modules/audio_decode.h"

namespace hub {
namespace {

uint32_t little(std::string_view bytes, size_t at) {
  uint32_t value = 0;
  for (size_t i = 4; i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
  return value;
}

void check_wave(const AudioFile& file) {
  const std::string_view bytes = file.bytes;
  // Writers that cannot go back leave the largest size that they know.
  constexpr uint32_t unknown = 0x7fff'0000;
  for (size_t at = 12; at + 8 <= bytes.size();) {
    const std::string_view id = bytes.substr(at, 4);
    const uint32_t size = little(bytes, at + 4);
    at += 8;
    const size_t left = bytes.size() - at;
    if (id == "data") {
      if (size > left && size < unknown)
        file.refuse("is truncated: it has ", left, " of ", size, " bytes of samples");
      return;
    }
    if (size > left) return;
    at += size + size % 2;
  }
}

void check_ogg(const AudioFile& file) {
  const std::string_view bytes = file.bytes;
  using namespace std::string_view_literals;
  constexpr size_t header = 27;
  const size_t at = bytes.rfind("OggS\0"sv);
  if (at == std::string_view::npos) return;
  size_t size = header;
  if (bytes.size() - at > size) {
    const size_t parts = static_cast<unsigned char>(bytes[at + header - 1]);
    size += parts;
    for (size_t i = 0; i < parts && at + header + i < bytes.size(); ++i)
      size += static_cast<unsigned char>(bytes[at + header + i]);
  }
  if (bytes.size() - at < size) file.refuse("is truncated: its last page is cut");
  constexpr unsigned last_of_stream = 4;
  if ((static_cast<unsigned char>(bytes[at + 5]) & last_of_stream) == 0)
    file.refuse("is truncated: its last page is missing");
}

}  // namespace

void check_whole(const AudioFile& file) {
  if (file.bytes.starts_with("RIFF")) check_wave(file);
  if (file.bytes.starts_with("OggS")) check_ogg(file);
}

}  // namespace hub
