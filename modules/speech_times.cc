#include "modules/speech_times.h"

#include <algorithm>

namespace hub {
namespace {

/// Stretches of speech, found window by window.
class Stretches {
 public:
  Stretches(int64_t window, const SpeechLimits& limits)
      : limits_(limits),
        longest_(limits.max_speech - static_cast<double>(window) - 2 * limits.pad) {}

  void add(int64_t now, double probability) {
    const bool speech = probability >= limits_.threshold;
    if (speech && silent_since_ != 0) {
      const int64_t length = now - silent_since_;
      if (static_cast<double>(length) > limits_.split_silence)
        pauses_.push_back({silent_since_, now});
      silent_since_ = 0;
    }
    if (speech && !inside_) {
      inside_ = true;
      start_ = now;
      return;
    }
    if (!inside_) return;
    if (static_cast<double>(now - start_) > longest_) {
      if (pauses_.empty()) return finish(now);
      const SpeechTime pause = *std::max_element(
          pauses_.begin(), pauses_.end(),
          [](const auto& a, const auto& b) { return a.end - a.start < b.end - b.start; });
      finish(pause.start);
      inside_ = true;
      start_ = pause.end;
    }
    if (probability >= limits_.silence_threshold) return;
    if (silent_since_ == 0) silent_since_ = now;
    if (static_cast<double>(now - silent_since_) < limits_.min_silence) return;
    finish_if_long(silent_since_);
  }

  std::vector<SpeechTime> end(int64_t samples) {
    if (inside_) finish_if_long(samples);
    return std::move(found_);
  }

 private:
  void finish_if_long(int64_t end) {
    const bool enough = static_cast<double>(end - start_) > limits_.min_speech;
    finish(end);
    if (!enough) found_.pop_back();
  }
  void finish(int64_t end) {
    found_.push_back({start_, end});
    inside_ = false;
    silent_since_ = 0;
    pauses_.clear();
  }

  const SpeechLimits& limits_;
  double longest_;
  bool inside_ = false;
  int64_t start_ = 0, silent_since_ = 0;  ///< the latter 0: not silent
  std::vector<SpeechTime> pauses_;        ///< of the stretch so far, where it may be cut
  std::vector<SpeechTime> found_;
};

}  // namespace

std::vector<SpeechTime> speech_times(std::span<const float> probabilities, int64_t window,
                                     int64_t samples, const SpeechLimits& limits) {
  Stretches stretches(window, limits);
  for (size_t i = 0; i < probabilities.size(); ++i)
    stretches.add(window * static_cast<int64_t>(i), probabilities[i]);
  std::vector<SpeechTime> times = stretches.end(samples);
  const double pad = limits.pad;
  const auto earlier = [&](int64_t start) {
    return static_cast<int64_t>(std::max(0.0, static_cast<double>(start) - pad));
  };
  const auto later = [&](int64_t end) {
    return static_cast<int64_t>(
        std::min(static_cast<double>(samples), static_cast<double>(end) + pad));
  };
  if (!times.empty()) times.front().start = earlier(times.front().start);
  for (size_t i = 0; i < times.size(); ++i) {
    if (i + 1 == times.size()) {
      times[i].end = later(times[i].end);
      break;
    }
    const int64_t between = times[i + 1].start - times[i].end;
    if (static_cast<double>(between) < 2 * pad) {
      times[i].end += between / 2;
      times[i + 1].start = std::max<int64_t>(0, times[i + 1].start - between / 2);
    } else {
      times[i].end = later(times[i].end);
      times[i + 1].start = earlier(times[i + 1].start);
    }
  }
  return times;
}

}  // namespace hub
