// From how likely notes begin and sound, frame by frame, to notes: basic-pitch's
// output_to_notes_polyphonic (note_creation.py of package basic-pitch 0.4.0).
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace hub {

struct NoteLimits {
  double onset = 0.5;    ///< least likelihood of a beginning
  double sound = 0.3;    ///< below it a note is not heard
  size_t shortest = 11;  ///< frames; a note has more
};

struct Note {
  size_t start = 0, end = 0;  ///< frames; end is behind the last
  size_t pitch = 0;           ///< column
  double amplitude = 0;       ///< mean of `sounds` over the note
};

/// Both are [frames, pitches] of the same size. Notes found by their beginnings first, the last one
/// first, then those found by their sound, the strongest first.
std::vector<Note> find_notes(std::span<const float> onsets, std::span<const float> sounds,
                             size_t pitches, const NoteLimits& limits);

}  // namespace hub
