// Music transcription: overlapping windows of sound through one network, notes out.
// preprocess: rate; window, step (samples of a frame), overlap (frames); frames_per_second, of
// which a sound has so many. postprocess: onsets, sounds (outputs of the network, [1, frames,
// pitches]); lowest (MIDI number of the first pitch); onset_threshold, threshold; shortest
// (seconds); late (seconds that frames of each further window are behind).
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "hub/fields.h"
#include "modules/module.h"
#include "modules/notes.h"

namespace hub {
namespace {

class MusicTranscription final : public Task {
 public:
  explicit MusicTranscription(Module& module) : module_(module) {
    Fields pre(module.manifest().preprocess, module.manifest().id() + ": preprocess");
    rate_ = static_cast<int>(pre.integer("rate", 1000, 192'000));
    window_ = static_cast<size_t>(pre.integer("window", 1, 1 << 22));
    step_ = static_cast<size_t>(pre.integer("step", 1, 1 << 16));
    overlap_ = static_cast<size_t>(pre.integer("overlap", 0, 1 << 16));
    frames_per_second_ = pre.integer("frames_per_second", 1, rate_);
    if (overlap_ % 2 != 0 || overlap_ * step_ >= window_)
      pre.refuse("overlap", "is odd, or as long as a window");
    pre.done();
    Fields post(module.manifest().postprocess, module.manifest().id() + ": postprocess");
    onsets_ = post.text("onsets");
    sounds_ = post.text("sounds");
    lowest_ = post.integer("lowest", 0, 127);
    limits_.onset = post.number("onset_threshold");
    limits_.sound = post.number("threshold");
    const double shortest = std::nearbyint(post.number("shortest") * rate_ / step_);
    if (!(shortest >= 0 && shortest < 1e6)) post.refuse("shortest", "is no length of a note");
    limits_.shortest = static_cast<size_t>(shortest);
    late_ = post.number("late");
    post.done();
  }

  InputKind input() const override { return InputKind::audio; }

  std::vector<json> predict(std::span<const Sample> samples, const RunOptions&) override {
    std::vector<json> results;
    for (const Sample& sample : samples) {
      const Audio audio = within(sample.name, [&] { return resample(sample.audio, rate_); });
      results.push_back({{"notes", notes(audio.samples)}});
    }
    return results;
  }

 private:
  /// A matrix that grows frame by frame, and how wide it is.
  struct Frames {
    std::string name;
    size_t output = 0, pitches = 0;
    std::vector<float> values;
  };

  json notes(std::span<const float> sound) {
    Frames onsets = frames_of(onsets_), sounds = frames_of(sounds_);
    const size_t per_window = run(sound, onsets, sounds);
    std::vector<Note> found;
    if (sounds.pitches > 0) {
      // As many as the sound is long; the last window reaches beyond it.
      const size_t whole = sound.size() * static_cast<size_t>(frames_per_second_) /
                           static_cast<size_t>(rate_) * sounds.pitches;
      for (Frames* f : {&onsets, &sounds}) f->values.resize(std::min(f->values.size(), whole));
      found = find_notes(onsets.values, sounds.values, sounds.pitches, limits_);
    }
    std::sort(found.begin(), found.end(), [](const Note& a, const Note& b) {
      return std::pair(a.start, a.pitch) < std::pair(b.start, b.pitch);
    });
    json list = json::array();
    for (const Note& note : found) {
      list.push_back({{"start", seconds(note.start, per_window)},
                      {"end", seconds(note.end, per_window)},
                      {"pitch", lowest_ + static_cast<int64_t>(note.pitch)},
                      {"score", note.amplitude}});
    }
    return list;
  }

  double seconds(size_t frame, size_t per_window) const {
    const double time = static_cast<double>(frame * step_) / rate_;
    return time - late_ * static_cast<double>(frame / per_window);
  }

  Frames frames_of(const std::string& name) {
    const Program& program = module_.network("main").program();
    for (size_t i = 0; i < program.outputs.size(); ++i) {
      if (program[program.outputs[i]].name == name) return {name, i, 0, {}};
    }
    refuse(concat("has no output '", name, "'"));
  }

  /// Fills both with the frames of all windows but for half of the overlap on each side; returns
  /// how many frames a window has.
  size_t run(std::span<const float> sound, Frames& onsets, Frames& sounds) {
    Session& network = module_.network("main");
    const size_t before = overlap_ * step_ / 2, hop = window_ - overlap_ * step_;
    size_t per_window = 1;
    Tensor input(DType::f32, {1, static_cast<int64_t>(window_), 1});
    for (size_t begin = 0; !sound.empty() && begin < sound.size() + before; begin += hop) {
      float* to = input.data<float>();
      for (size_t i = begin; i < begin + window_; ++i)
        *to++ = i >= before && i - before < sound.size() ? sound[i - before] : 0.0F;
      const std::vector<Tensor> outputs = network.run({input});
      per_window = add(outputs.at(onsets.output), onsets);
      if (add(outputs.at(sounds.output), sounds) != per_window || sounds.pitches != onsets.pitches)
        refuse("gives onsets and sounds of different sizes");
    }
    return per_window;
  }

  size_t add(const Tensor& output, Frames& to) const {
    const Shape& shape = output.shape();
    if (output.dtype() != DType::f32 || shape.rank() != 3 || shape[0] != 1 ||
        shape[1] <= static_cast<int64_t>(overlap_) || shape[2] < 1) {
      refuse(concat("gives '", to.name, "' as ", output.spec().str(),
                    ", wanted float32[1, frames, pitches] with more frames than overlap"));
    }
    to.pitches = static_cast<size_t>(shape[2]);
    const float* values = output.data<float>();
    const size_t cut = overlap_ / 2 * to.pitches;
    to.values.insert(to.values.end(), values + cut,
                     values + static_cast<size_t>(output.numel()) - cut);
    return static_cast<size_t>(shape[1]);
  }

  [[noreturn]] void refuse(const std::string& why) const {
    fail(Code::refused, module_.manifest().id(), ": the network ", why);
  }

  Module& module_;
  int rate_ = 0;
  size_t window_ = 0, step_ = 0, overlap_ = 0;
  int64_t frames_per_second_ = 0, lowest_ = 0;
  std::string onsets_, sounds_;
  NoteLimits limits_;
  double late_ = 0;
};

}  // namespace

std::unique_ptr<Task> make_music_transcription(Module& module) {
  return std::make_unique<MusicTranscription>(module);
}

}  // namespace hub
