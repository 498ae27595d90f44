// Sound: which decoder a file needs, and what all of them share.
#include "modules/audio.h"

#include <cmath>

#include "modules/audio_decode.h"

namespace hub {

void AudioFile::set_rate(int64_t rate) {
  constexpr int64_t least = 1000, most = 768'000;
  if (rate < least || rate > most)
    refuse("has a rate of ", rate, " samples a second, wanted ", least, " to ", most);
  if (audio.rate != 0 && audio.rate != rate)
    refuse("changes its rate from ", audio.rate, " to ", rate, " samples a second; cut it there");
  audio.rate = static_cast<int>(rate);
}

void AudioFile::add(const float* frames, size_t count, size_t channels) {
  if (static_cast<int64_t>(count) > max_samples - static_cast<int64_t>(audio.samples.size()))
    refuse("has more than ", max_samples, " samples, which is the limit; cut it into pieces");
  for (size_t i = 0; i < count; ++i, frames += channels) {
    float sum = 0;
    for (size_t c = 0; c < channels; ++c) sum += frames[c];
    if (!std::isfinite(sum))
      refuse("is damaged: sample ", audio.samples.size(), " is not a finite number");
    audio.samples.push_back(sum / static_cast<float>(channels));
  }
}

void AudioFile::check_count(int64_t said) const {
  const auto count = static_cast<int64_t>(audio.samples.size());
  if (count < said) refuse("is truncated: it has ", count, " of ", said, " samples");
}

Audio decode_audio(std::string_view bytes, const std::string& name, int64_t max_samples) {
  AudioFile file{bytes, name, max_samples};
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(bytes[i]); };
  const bool wave = bytes.starts_with("RIFF") || bytes.starts_with("RF64");
  if (bytes.empty()) file.refuse("is not a sound: it is empty");
  if ((wave && bytes.substr(0, 12).ends_with("WAVE")) || bytes.starts_with("fLaC") ||
      bytes.starts_with("OggS")) {
    check_whole(file);
    decode_sndfile(file);
  } else if (bytes.starts_with("ID3") || (bytes.size() > 1 && byte(0) == 0xff && byte(1) >= 0xe0)) {
    decode_mp3(file);
  } else {
    file.refuse("is not a sound: it begins with '", printable(bytes.substr(0, 12)),
                "'; wanted WAV, FLAC, Ogg or MP3");
  }
  if (file.audio.samples.empty()) file.refuse("holds no sound: it has no samples");
  return std::move(file.audio);
}

}  // namespace hub
