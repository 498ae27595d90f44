// Keyword spotting: a sound step by step through the networks "mel" (bands of tones) and
// "embedding" (of the latest of them), and those through one small network a set of keywords; as
// openWakeWord listens to a microphone. preprocess: rate; step and, before it, context (samples);
// frames, bands (of the embedding's input); scale, offset (of the bands); silence (seconds of it
// behind the sound). postprocess: keywords, the words that each network knows, "" for none of them;
// threshold (of scores); warm_up (steps whose scores do not count).
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "hub/fields.h"
#include "modules/module.h"

namespace hub {
namespace {

/// Bands of tones, row by row, and where the rows end that each window takes the last of.
struct Bands {
  std::vector<float> values;
  std::vector<size_t> ends;
};

/// [count, width], row by row.
struct Rows {
  size_t width = 0;
  std::vector<float> values;
  size_t count() const { return width == 0 ? 0 : values.size() / width; }
};

class KeywordSpotting final : public Task {
 public:
  explicit KeywordSpotting(Module& module);
  InputKind input() const override { return InputKind::audio; }
  std::vector<json> predict(std::span<const Sample> samples, const RunOptions& options) override;

 private:
  struct Head {
    std::string network;
    std::vector<std::string> words;
  };

  Bands bands(std::span<const float> sound);
  Rows embeddings(const Bands& bands);
  Rows scores(const Head& head, const Rows& embeddings);
  json keyword(const std::string& word, const Rows& scores, size_t column) const;

  [[noreturn]] void refuse(const std::string& network, const Tensor& found) const {
    fail(Code::refused, module_.manifest().id(), ": network '", network, "' gives ",
         found.spec().str());
  }

  Module& module_;
  int rate_ = 0;
  size_t step_ = 0, context_ = 0, frames_ = 0, bands_ = 0, silence_ = 0, warm_up_ = 0;
  float scale_ = 1, offset_ = 0;
  double threshold_ = 0;
  std::vector<Head> heads_;
};

KeywordSpotting::KeywordSpotting(Module& module) : module_(module) {
  const std::string id = module.manifest().id();
  Fields pre(module.manifest().preprocess, id + ": preprocess");
  rate_ = static_cast<int>(pre.integer("rate", 1000, 192'000));
  step_ = static_cast<size_t>(pre.integer("step", 1, 1 << 20));
  context_ = static_cast<size_t>(pre.integer("context", 0, 1 << 20));
  frames_ = static_cast<size_t>(pre.integer("frames", 1, 4096));
  bands_ = static_cast<size_t>(pre.integer("bands", 1, 4096));
  scale_ = static_cast<float>(pre.number("scale"));
  offset_ = static_cast<float>(pre.number("offset"));
  const double silence = pre.number("silence");
  if (!(silence >= 0 && silence <= 60)) pre.refuse("silence", "is not 0 to 60 seconds");
  silence_ = static_cast<size_t>(silence * rate_);
  pre.done();

  Fields post(module.manifest().postprocess, id + ": postprocess");
  threshold_ = post.number("threshold");
  warm_up_ = static_cast<size_t>(post.integer("warm_up", 0, 1000));
  const json& keywords = post.object("keywords");
  Fields words(keywords, id + ": keywords");
  for (const auto& [network, list] : keywords.items()) {
    heads_.push_back({network, words.strings(network)});
    if (heads_.back().words.empty()) words.refuse(network, "is an empty list");
  }
  post.done();
}

std::vector<json> KeywordSpotting::predict(std::span<const Sample> samples, const RunOptions&) {
  std::vector<json> results;
  for (const Sample& sample : samples) {
    Audio audio = within(sample.name, [&] { return resample(sample.audio, rate_); });
    audio.samples.resize(audio.samples.size() + silence_);
    const Rows embedded = embeddings(bands(audio.samples));
    json found = json::array();
    for (const Head& head : heads_) {
      const Rows all = scores(head, embedded);
      for (size_t i = 0; i < head.words.size(); ++i) {
        if (!head.words[i].empty()) found.push_back(keyword(head.words[i], all, i));
      }
    }
    results.push_back({{"keywords", std::move(found)}});
  }
  return results;
}

/// A window of frames * bands numbers for silence, then one at the end of each step; before the
/// sound are ones, as in openWakeWord. The network is asked step by step, since its numbers depend
/// on the loudest of those it gives together.
Bands KeywordSpotting::bands(std::span<const float> sound) {
  Session& network = module_.network("mel");
  Bands all;
  const auto ask = [&](std::span<const float> part) {
    Tensor input(DType::f32, {1, static_cast<int64_t>(part.size())});
    std::transform(part.begin(), part.end(), input.data<float>(), [](float v) {
      return std::clamp(std::nearbyint(v * 32768.0F), -32768.0F, 32767.0F);
    });
    const Tensor found = network.run({input}).at(0);
    const int64_t count = found.numel();
    if (found.dtype() != DType::f32 || count == 0 || count % static_cast<int64_t>(bands_) != 0)
      refuse("mel", found);
    for (const float value : found.values<float>()) all.values.push_back(value * scale_ + offset_);
  };
  const size_t window = frames_ * bands_;
  ask(std::vector<float>(context_ + step_));
  all.values.resize(bands_);
  while (all.values.size() < window) all.values.push_back(all.values[all.values.size() - bands_]);
  all.ends.push_back(window);
  all.values.resize(2 * window, 1.0F);
  for (size_t end = step_; end <= sound.size(); end += step_) {
    const size_t begin = end - std::min(end, step_ + context_);
    ask(sound.subspan(begin, end - begin));
    all.ends.push_back(all.values.size());
  }
  return all;
}

/// A row a window. All blocks have one size, so that sounds of every length run on one plan.
Rows KeywordSpotting::embeddings(const Bands& bands) {
  constexpr size_t block = 16;
  Session& network = module_.network("embedding");
  const size_t window = frames_ * bands_;
  Rows rows;
  Tensor input(DType::f32, {static_cast<int64_t>(block), static_cast<int64_t>(frames_),
                            static_cast<int64_t>(bands_), 1});
  for (size_t at = 0; at < bands.ends.size(); at += block) {
    const size_t some = std::min(block, bands.ends.size() - at);
    float* to = input.data<float>();
    for (size_t i = 0; i < some; ++i)
      to = std::copy_n(bands.values.data() + bands.ends[at + i] - window, window, to);
    std::fill(to, input.data<float>() + block * window, 0.0F);
    const Tensor found = network.run({input}).at(0);
    const auto numbers = static_cast<size_t>(found.numel());
    if (found.dtype() != DType::f32 || numbers == 0 || numbers % block != 0)
      refuse("embedding", found);
    rows.width = numbers / block;
    rows.values.insert(rows.values.end(), found.data<float>(),
                       found.data<float>() + some * rows.width);
  }
  return rows;
}

/// A row of scores a step. What a network hears before the sound is silence, whose embedding is the
/// first.
Rows KeywordSpotting::scores(const Head& head, const Rows& embeddings) {
  Session& network = module_.network(head.network);
  const Program& program = network.program();
  const Shape shape = program[program.inputs.at(0)].declared.shape;
  const auto width = static_cast<int64_t>(embeddings.width);
  if (program.inputs.size() != 1 || shape.rank() != 3 || shape[1] < 1 || shape[1] > 4096 ||
      shape[2] != width) {
    fail(Code::refused, module_.manifest().id(), ": network '", head.network, "' takes ",
         program[program.inputs[0]].declared.str(), ", wanted float32[1, steps, ", width, "]");
  }
  const auto steps = static_cast<size_t>(shape[1]);
  Tensor input(DType::f32, {1, shape[1], width});
  const float* from = embeddings.values.data();
  for (size_t i = 0; i < steps; ++i)
    std::copy_n(from, embeddings.width, input.data<float>() + i * embeddings.width);
  Rows rows{head.words.size(), {}};
  for (size_t i = 1; i < embeddings.count(); ++i) {
    float* to = input.data<float>();
    std::copy(to + width, to + input.numel(), to);
    std::copy_n(from + i * embeddings.width, embeddings.width, to + input.numel() - width);
    const Tensor found = network.run({input}).at(0);
    if (found.dtype() != DType::f32 || static_cast<size_t>(found.numel()) != head.words.size())
      refuse(head.network, found);
    for (const float score : found.values<float>()) {
      if (!std::isfinite(score))
        fail(Code::numeric, module_.manifest().id(), ": network '", head.network,
             "' gives a score that is no number");
      rows.values.push_back(i <= warm_up_ ? 0.0F : score);
    }
  }
  return rows;
}

/// The highest score and the stretches of steps that reach the threshold.
json KeywordSpotting::keyword(const std::string& word, const Rows& scores, size_t column) const {
  json times = json::array();
  float highest = 0, peak = 0;
  size_t start = 0;
  bool inside = false;
  const auto seconds = [&](size_t steps) { return static_cast<double>(steps * step_) / rate_; };
  for (size_t i = 0; i <= scores.count(); ++i) {
    const float score = i < scores.count() ? scores.values[i * scores.width + column] : 0;
    const bool heard = i < scores.count() && score >= threshold_;
    if (heard && !std::exchange(inside, true)) {
      start = i;
      peak = 0;
    }
    highest = std::max(highest, score);
    peak = std::max(peak, score);
    if (!heard && std::exchange(inside, false))
      times.push_back({{"start", seconds(start)}, {"end", seconds(i)}, {"score", peak}});
  }
  return {{"label", word}, {"score", highest}, {"segments", std::move(times)}};
}

}  // namespace

std::unique_ptr<Task> make_keyword_spotting(Module& module) {
  return std::make_unique<KeywordSpotting>(module);
}

}  // namespace hub
