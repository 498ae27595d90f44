#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "modules/audio.h"

namespace hub {

std::string encode_wav(const Audio& audio) {
  constexpr size_t most = (size_t{1} << 31) - 64;
  if (audio.rate < 1 || audio.samples.size() > most / 2) {
    fail(Code::usage, "cannot write a WAV file of ", audio.samples.size(), " samples at ",
         audio.rate, " a second");
  }
  std::string out;
  const auto number = [&](uint32_t value, int bytes) {
    for (; bytes > 0; --bytes, value >>= 8) out += static_cast<char>(value & 0xff);
  };
  const auto size = static_cast<uint32_t>(audio.samples.size() * 2);
  const auto rate = static_cast<uint32_t>(audio.rate);
  out.reserve(44 + size);
  out += "RIFF";
  number(36 + size, 4);
  out += "WAVEfmt ";
  number(16, 4);
  number(1, 2);  // PCM
  number(1, 2);  // channels
  number(rate, 4);
  number(2 * rate, 4);
  number(2, 2);
  number(16, 2);
  out += "data";
  number(size, 4);
  for (const float sample : audio.samples) {
    if (std::isnan(sample)) fail(Code::numeric, "a sound to be written holds NaN");
    const float value = std::clamp(std::nearbyint(sample * 32768.0F), -32768.0F, 32767.0F);
    number(static_cast<uint32_t>(static_cast<int32_t>(value)), 2);
  }
  return out;
}

}  // namespace hub
