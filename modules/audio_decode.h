// What the decoders of sound share; private to modules/audio*.cc.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "base/text.h"
#include "modules/audio.h"

namespace hub {

/// A file to decode and what came out of it so far.
struct AudioFile {
  std::string_view bytes;
  const std::string& name;
  int64_t max_samples;
  Audio audio = {};

  /// Throws Code::refused: "<name> <why>".
  template <class... Parts>
  [[noreturn]] void refuse(const Parts&... why) const {
    fail(Code::refused, printable(name), " ", why...);
  }
  /// Sets the rate, or refuses one that is absurd or another than before.
  void set_rate(int64_t rate);
  /// Adds the mean of the channels of each of `frames` [count, channels]; refuses to pass the limit
  /// and what is not a number.
  void add(const float* frames, size_t count, size_t channels);
  /// Refuses fewer samples than the file says it has; `said` below 1: it does not say.
  void check_count(int64_t said) const;
};

void decode_sndfile(AudioFile& file);  ///< WAV, FLAC, Ogg
void decode_mp3(AudioFile& file);

/// Refuses WAV and Ogg files whose end is missing: libsndfile plays what there is. WAV that was
/// written into a pipe does not say how long it is.
void check_whole(const AudioFile& file);

}  // namespace hub
