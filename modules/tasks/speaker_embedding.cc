// Speaker embedding: a mel spectrogram in overlapping parts, one vector a part, their mean, of unit
// length: Resemblyzer's embed_utterance.
// preprocess: rate; level (dBFS that quiet sounds are raised to); window, step (samples), bands of
// the spectrogram; part (frames), parts (a second), coverage (least share of the last part).
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.h"
#include "hub/fields.h"
#include "modules/mel.h"
#include "modules/module.h"
#include "modules/vectors.h"

namespace hub {
namespace {

constexpr size_t most_parts = 32;  ///< in one run of the network

class SpeakerEmbedding final : public Task {
 public:
  explicit SpeakerEmbedding(Module& module) : module_(module) {
    Fields fields(module.manifest().preprocess, module.manifest().id() + ": preprocess");
    rate_ = static_cast<int>(fields.integer("rate", 1000, 192'000));
    level_ = fields.number("level");
    MelOptions mel{.rate = rate_,
                   .window = static_cast<int>(fields.integer("window", 2, 4096)),
                   .step = static_cast<int>(fields.integer("step", 1, 4096)),
                   .bands = static_cast<int>(fields.integer("bands", 1, 512))};
    if (mel.window % 2 != 0) fields.refuse("window", "is odd");
    step_ = mel.step;
    bands_ = static_cast<size_t>(mel.bands);
    part_ = fields.integer("part", 1, 4096);
    const double parts = fields.number("parts");
    const double apart = std::nearbyint(rate_ / parts / step_);
    if (!(apart >= 1 && apart <= static_cast<double>(part_)))
      fields.refuse("parts", "a second would overlap whole, or leave gaps");
    apart_ = static_cast<int64_t>(apart);
    coverage_ = fields.number("coverage");
    fields.done();
    Fields(module.manifest().postprocess, module.manifest().id() + ": postprocess").done();
    mel_.emplace(mel);
  }

  InputKind input() const override { return InputKind::audio; }

  std::vector<json> predict(std::span<const Sample> samples, const RunOptions& options) override {
    if (options.pair && samples.size() != 2)
      fail(Code::usage, "--pair compares two sounds, ", samples.size(), " were given");
    std::vector<std::vector<float>> vectors;
    for (const Sample& sample : samples)
      vectors.push_back(within(sample.name, [&] { return embedding(sample.audio); }));
    if (options.pair) return {json{{"similarity", cosine(vectors[0], vectors[1])}}};
    std::vector<json> results;
    for (const auto& vector : vectors) results.push_back({{"embedding", vector}});
    return results;
  }

 private:
  std::vector<float> embedding(const Audio& audio) {
    std::vector<float> sound = resample(audio, rate_).samples;
    raise(sound);
    const std::vector<int64_t> starts = part_starts(static_cast<int64_t>(sound.size()));
    const auto end = static_cast<size_t>((starts.back() + part_) * step_);
    sound.resize(std::max(sound.size(), end));
    const std::vector<float> frames = (*mel_)(sound);
    std::vector<float> mean;
    for (size_t first = 0; first < starts.size(); first += most_parts) {
      const size_t count = std::min(most_parts, starts.size() - first);
      add_vectors(parts(frames, {starts.data() + first, count}), mean);
    }
    to_unit_length(mean);
    return mean;
  }

  /// Makes a sound below the level as loud as that.
  void raise(std::vector<float>& sound) const {
    double square = 0;
    for (const float x : sound) square += double{x} * x;
    const double rms = std::sqrt(square / static_cast<double>(std::max<size_t>(sound.size(), 1)));
    const double factor = std::pow(10, level_ / 20) / rms;
    if (rms == 0 || factor <= 1) return;
    for (float& x : sound) x = static_cast<float>(x * factor);
  }

  /// Where the parts begin, in frames; at least one.
  std::vector<int64_t> part_starts(int64_t samples) const {
    const int64_t frames = samples / step_ + 1;
    std::vector<int64_t> starts;
    for (int64_t at = 0; at == 0 || at < frames - part_ + apart_ + 1; at += apart_)
      starts.push_back(at);
    const auto covered = static_cast<double>(samples - starts.back() * step_);
    if (starts.size() > 1 && covered / static_cast<double>(part_ * step_) < coverage_)
      starts.pop_back();
    return starts;
  }

  /// float32[starts, part, bands] of the spectrogram [frames, bands].
  Tensor parts(const std::vector<float>& frames, std::span<const int64_t> starts) const {
    Tensor tensor(DType::f32,
                  {static_cast<int64_t>(starts.size()), part_, static_cast<int64_t>(bands_)});
    const size_t size = static_cast<size_t>(part_) * bands_;
    float* to = tensor.data<float>();
    for (const int64_t start : starts)
      to = std::copy_n(frames.data() + static_cast<size_t>(start) * bands_, size, to);
    return tensor;
  }

  /// Adds the vector of each part, made as long as one, to `sum`.
  void add_vectors(const Tensor& some, std::vector<float>& sum) {
    Tensor vectors = module_.network("main").run({some}).at(0);
    const Shape& shape = vectors.shape();
    if (vectors.dtype() != DType::f32 || shape.rank() != 2 || shape[0] != some.shape()[0]) {
      fail(Code::refused, module_.manifest().id(), ": the network gives ", vectors.spec().str(),
           " for ", some.shape()[0], " parts, wanted a row of numbers a part");
    }
    const auto width = static_cast<size_t>(shape[1]);
    sum.resize(width);
    for (int64_t i = 0; i < shape[0]; ++i) {
      const std::span row(vectors.data<float>() + static_cast<size_t>(i) * width, width);
      to_unit_length(row);
      for (size_t k = 0; k < width; ++k) sum[k] += row[k];
    }
  }

  Module& module_;
  int rate_ = 0;
  double level_ = 0, coverage_ = 0;
  int64_t step_ = 0, part_ = 0, apart_ = 0;  ///< samples; frames; frames from part to part
  size_t bands_ = 0;
  std::optional<MelSpectrogram> mel_;
};

}  // namespace

std::unique_ptr<Task> make_speaker_embedding(Module& module) {
  return std::make_unique<SpeakerEmbedding>(module);
}

}  // namespace hub
