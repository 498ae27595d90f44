// Whisper's tokens of time: which may follow in a transcript, and what parts they cut it into.
// Times are tokens behind all others, first_time for the start of a window and 20 ms from one to
// the next.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace hub {

struct TimestampRules {
  int64_t end = 0;         ///< the token that ends a transcript; all before it are text
  int64_t first_time = 1;  ///< the token of 0 seconds; the one before says that there are no times
  int64_t latest_start = 0;  ///< in steps of 20 ms: where the first part begins at the latest
  std::vector<int64_t> never, never_first;  ///< further tokens that are not wanted

  /// Makes the logits of what may not follow `tokens` minus infinity: the first token is a time;
  /// times come in pairs, but for the last, and never go back; where the times together are
  /// likelier than every text, a time follows.
  void apply(std::span<const int64_t> tokens, std::span<float> logits) const;
};

/// A part of a window, in frames of 10 ms from its start.
struct SpokenPart {
  int64_t start = 0, end = 0;
  std::vector<int64_t> tokens;  ///< its times included
};

struct SpokenParts {
  std::vector<SpokenPart> parts;
  int64_t next = 0;  ///< the frame at which the next window begins
};

/// Cuts the transcript of a window that has so many frames between its pairs of times. What is
/// behind the last pair belongs to the next window, unless it is complete.
SpokenParts cut_by_times(std::span<const int64_t> tokens, int64_t first_time, int64_t frames);

}  // namespace hub
