#include "modules/notes.h"

#include <algorithm>
#include <numeric>

namespace hub {
namespace {

constexpr size_t patience = 11;  ///< frames that a note may be too weak and go on

class Finder {
 public:
  Finder(std::span<const float> onsets, std::span<const float> sounds, size_t pitches,
         const NoteLimits& limits)
      : sounds_(sounds),
        limits_(limits),
        pitches_(pitches),
        frames_(sounds.size() / pitches),
        onsets_(onsets.begin(), onsets.end()),
        left_(sounds.begin(), sounds.end()) {
    add_rises();
  }

  std::vector<Note> find() {
    by_onsets();
    by_sounds();
    return std::move(notes_);
  }

 private:
  /// A sound that grows quickly begins too: the least growth over one and two frames, scaled to the
  /// same largest value as the onsets.
  void add_rises() {
    std::vector<double> rises(left_.size());
    for (size_t i = 2 * pitches_; i < left_.size(); ++i) {
      const double over_one = left_[i] - left_[i - pitches_];
      const double over_two = left_[i] - left_[i - 2 * pitches_];
      rises[i] = std::max(0.0, std::min(over_one, over_two));
    }
    const double most = rises.empty() ? 0 : *std::max_element(rises.begin(), rises.end());
    if (most == 0) return;
    const double most_onset = *std::max_element(onsets_.begin(), onsets_.end());
    for (size_t i = 0; i < rises.size(); ++i)
      onsets_[i] = std::max(onsets_[i], most_onset * rises[i] / most);
  }

  void by_onsets() {
    if (frames_ < 3) return;
    for (size_t i = (frames_ - 1) * pitches_; i-- > pitches_;) {
      const bool peak = onsets_[i] > onsets_[i - pitches_] && onsets_[i] > onsets_[i + pitches_];
      if (!peak || onsets_[i] < limits_.onset) continue;
      const size_t start = i / pitches_, pitch = i % pitches_;
      size_t end = start + 1, weak = 0;
      for (; end < frames_ - 1 && weak < patience; ++end)
        weak = left_[end * pitches_ + pitch] < limits_.sound ? weak + 1 : 0;
      end -= weak;
      if (end <= start + limits_.shortest) continue;
      for (size_t f = start; f < end; ++f) erase(f, pitch);
      add(start, end, pitch);
    }
  }

  /// What no beginning explains, from the strongest moment on in both directions.
  void by_sounds() {
    std::vector<size_t> order(left_.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::erase_if(order, [&](size_t i) { return left_[i] <= limits_.sound; });
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return left_[a] > left_[b]; });
    for (const size_t i : order) {
      if (left_[i] == 0) continue;
      const size_t middle = i / pitches_, pitch = i % pitches_;
      left_[i] = 0;
      size_t end = middle + 1, weak = 0;
      for (; end < frames_ - 1 && weak < patience; ++end) weak = weaker(end, pitch, weak);
      const auto stop = static_cast<std::ptrdiff_t>(end - weak) - 1;
      std::ptrdiff_t begin = static_cast<std::ptrdiff_t>(middle) - 1;
      for (weak = 0; begin > 0 && weak < patience; --begin)
        weak = weaker(static_cast<size_t>(begin), pitch, weak);
      const std::ptrdiff_t start = begin + 1 + static_cast<std::ptrdiff_t>(weak);
      if (stop - start > static_cast<std::ptrdiff_t>(limits_.shortest))
        add(static_cast<size_t>(start), static_cast<size_t>(stop), pitch);
    }
  }

  size_t weaker(size_t frame, size_t pitch, size_t weak) {
    weak = left_[frame * pitches_ + pitch] < limits_.sound ? weak + 1 : 0;
    erase(frame, pitch);
    return weak;
  }

  /// This moment belongs to a note, and so do its neighbours.
  void erase(size_t frame, size_t pitch) {
    double* row = left_.data() + frame * pitches_;
    row[pitch] = 0;
    if (pitch + 1 < pitches_) row[pitch + 1] = 0;
    if (pitch > 0) row[pitch - 1] = 0;
  }

  void add(size_t start, size_t end, size_t pitch) {
    double sum = 0;
    for (size_t f = start; f < end; ++f) sum += sounds_[f * pitches_ + pitch];
    notes_.push_back({start, end, pitch, sum / static_cast<double>(end - start)});
  }

  std::span<const float> sounds_;
  const NoteLimits& limits_;
  size_t pitches_, frames_;
  std::vector<double> onsets_, left_;  ///< the latter: sounds that are no note yet
  std::vector<Note> notes_;
};

}  // namespace

std::vector<Note> find_notes(std::span<const float> onsets, std::span<const float> sounds,
                             size_t pitches, const NoteLimits& limits) {
  return Finder(onsets, sounds, pitches, limits).find();
}

}  // namespace hub
