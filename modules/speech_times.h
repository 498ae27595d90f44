// From the probabilities that windows of sound are speech to the times of speech: silero-vad's
// get_speech_timestamps (utils_vad.py of package silero-vad 6.2.3).
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace hub {

/// All lengths in samples; they need not be whole.
struct SpeechLimits {
  double threshold = 0.5;           ///< speech begins where a probability reaches it
  double silence_threshold = 0.35;  ///< silence is what lies below
  double min_speech = 4000;         ///< shorter stretches are dropped
  double max_speech = std::numeric_limits<double>::infinity();  ///< longer ones are cut
  double min_silence = 1600;                                    ///< silence that ends a stretch
  double split_silence = 1568;  ///< silence in which a stretch that is too long may be cut: longer
  double pad = 480;             ///< added on both sides, at most half of what lies between two
};

struct SpeechTime {
  int64_t start = 0, end = 0;  ///< in samples; end is behind the last
  bool operator==(const SpeechTime&) const = default;
};

/// One probability a window of `window` samples, the last of which may reach beyond the `samples`
/// that there are. In order of time.
std::vector<SpeechTime> speech_times(std::span<const float> probabilities, int64_t window,
                                     int64_t samples, const SpeechLimits& limits);

}  // namespace hub
