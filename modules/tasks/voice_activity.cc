// Voice activity: windows of sound through one network that remembers, times of speech out.
// preprocess: rate (samples a second), window, context (samples), block (windows at a time);
// postprocess: thresholds, and lengths in seconds, of modules/speech_times.h.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "hub/fields.h"
#include "modules/module.h"
#include "modules/speech_times.h"

namespace hub {
namespace {

class VoiceActivity final : public Task {
 public:
  explicit VoiceActivity(Module& module) : module_(module) {
    read_preprocess();
    read_postprocess();
  }

  InputKind input() const override { return InputKind::audio; }

  std::vector<json> predict(std::span<const Sample> samples, const RunOptions&) override {
    std::vector<json> results;
    for (const Sample& sample : samples) {
      const Audio audio = within(sample.name, [&] { return resample(sample.audio, rate_); });
      const auto count = static_cast<int64_t>(audio.samples.size());
      json segments = json::array();
      for (const SpeechTime& time :
           speech_times(probabilities(audio.samples), window_, count, limits_)) {
        segments.push_back({{"start", seconds(time.start)}, {"end", seconds(time.end)}});
      }
      results.push_back({{"segments", std::move(segments)}});
    }
    return results;
  }

 private:
  void read_preprocess() {
    Fields fields(module_.manifest().preprocess, module_.manifest().id() + ": preprocess");
    rate_ = static_cast<int>(fields.integer("rate", 1000, 192'000));
    window_ = fields.integer("window", 1, 65'536);
    context_ = fields.integer("context", 0, window_);
    block_ = fields.integer("block", 1, 4096);
    fields.done();
  }

  void read_postprocess() {
    Fields fields(module_.manifest().postprocess, module_.manifest().id() + ": postprocess");
    const auto length = [&](const char* key) {
      const double value = fields.number(key);
      if (!(value >= 0)) fields.refuse(key, "is a length in seconds, which is never negative");
      return value * rate_;
    };
    limits_.threshold = fields.number("threshold");
    limits_.silence_threshold = fields.number("silence_threshold");
    limits_.min_speech = length("min_speech");
    limits_.min_silence = length("min_silence");
    limits_.pad = length("pad");
    if (fields.has("max_speech")) {
      limits_.max_speech = length("max_speech");
      limits_.split_silence = length("split_silence");
    }
    fields.done();
  }

  double seconds(int64_t samples) const { return static_cast<double>(samples) / rate_; }

  /// One a window; what the network remembers goes from block to block. All blocks have one size,
  /// so that clips of every length run on one plan: behind the end of a clip is silence.
  std::vector<float> probabilities(std::span<const float> samples) {
    Session& network = module_.network("main");
    std::vector<Tensor> inputs = first_inputs(network.program());
    std::vector<float> all;
    const size_t step = static_cast<size_t>(window_ * block_);
    for (size_t begin = 0; begin < samples.size(); begin += step) {
      inputs[0] = windows(samples, begin);
      const std::vector<Tensor> outputs = network.run(inputs);
      const Tensor& found = outputs.at(0);
      if (found.dtype() != DType::f32 || found.numel() != block_)
        refuse(concat("gives ", found.spec().str(), " for ", block_, " windows"));
      const size_t count = std::min(step, samples.size() - begin);
      const size_t whole =
          (count + static_cast<size_t>(window_) - 1) / static_cast<size_t>(window_);
      all.insert(all.end(), found.data<float>(), found.data<float>() + whole);
      std::copy(outputs.begin() + 1, outputs.end(), inputs.begin() + 1);
    }
    return all;
  }

  /// The windows' place, then the states at the beginning: zeros.
  std::vector<Tensor> first_inputs(const Program& program) const {
    if (program.inputs.empty() || program.inputs.size() != program.outputs.size())
      refuse("has not windows and states in, and as many states out");
    std::vector<Tensor> inputs(1);
    for (size_t i = 1; i < program.inputs.size(); ++i) {
      const Spec& state = program[program.inputs[i]].declared;
      if (state.dtype != DType::f32 || !state.shape.known())
        refuse(concat("has a state of ", state.str(), ", wanted float32 of a known size"));
      inputs.push_back(Tensor(DType::f32, state.shape));
      std::fill_n(inputs.back().data<float>(), inputs.back().numel(), 0.0F);
    }
    return inputs;
  }

  /// float32[block, context + window] of the samples from `begin` on; each window after the samples
  /// in front of it.
  Tensor windows(std::span<const float> samples, size_t begin) const {
    Tensor tensor(DType::f32, {block_, context_ + window_});
    float* to = tensor.data<float>();
    for (int64_t w = 0; w < block_; ++w) {
      const int64_t from = static_cast<int64_t>(begin) + w * window_ - context_;
      for (int64_t i = 0; i < context_ + window_; ++i) {
        const int64_t at = from + i;
        *to++ = at >= 0 && at < static_cast<int64_t>(samples.size())
                    ? samples[static_cast<size_t>(at)]
                    : 0.0F;
      }
    }
    return tensor;
  }

  [[noreturn]] void refuse(const std::string& why) const {
    fail(Code::refused, module_.manifest().id(), ": the network ", why);
  }

  Module& module_;
  int rate_ = 0;
  int64_t window_ = 0, context_ = 0, block_ = 0;
  SpeechLimits limits_;
};

}  // namespace

std::unique_ptr<Task> make_voice_activity(Module& module) {
  return std::make_unique<VoiceActivity>(module);
}

}  // namespace hub
