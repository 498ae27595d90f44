// Speech recognition: Whisper's log mel spectrogram window by window through an encoder, a search
// for the likeliest text with times in it: faster-whisper's transcribe at temperature 0.
// preprocess: rate; window, step (samples), bands of the spectrogram; frames that the network
// "encoder" takes. postprocess: vocabulary, a file of tokens; config, a JSON file with suppress_ids
// and suppress_ids_begin; beams; context (tokens that the network "decoder" knows positions for);
// latest_start (seconds); no_speech, log_probability: a window is left out when it is likelier than
// the first to hold no speech and its text less likely a token than the second; carry_text: whether
// the text so far stands before that of a window.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.h"
#include "base/text.h"
#include "hub/fields.h"
#include "modules/byte_vocabulary.h"
#include "modules/mel.h"
#include "modules/module.h"
#include "modules/speech_decoder.h"
#include "modules/timestamps.h"

namespace hub {
namespace {

constexpr double frames_a_second = 100;

class SpeechRecognition final : public Task {
 public:
  explicit SpeechRecognition(Module& module) : module_(module) {
    read_preprocess();
    read_postprocess();
  }

  InputKind input() const override { return InputKind::audio; }

  std::vector<json> predict(std::span<const Sample> samples, const RunOptions&) override {
    std::vector<json> results;
    for (const Sample& sample : samples) {
      results.push_back(
          within(sample.name, [&] { return transcribe(resample(sample.audio, rate_).samples); }));
    }
    return results;
  }

 private:
  void read_preprocess() {
    Fields fields(module_.manifest().preprocess, module_.manifest().id() + ": preprocess");
    rate_ = static_cast<int>(fields.integer("rate", 1000, 192'000));
    MelOptions mel{.rate = rate_,
                   .window = static_cast<int>(fields.integer("window", 2, 4096)),
                   .step = static_cast<int>(fields.integer("step", 1, 4096)),
                   .bands = static_cast<int>(fields.integer("bands", 1, 512)),
                   .mirrored = true};
    if (mel.window % 2 != 0) fields.refuse("window", "is odd");
    if (mel.step * frames_a_second != rate_) fields.refuse("step", "is not 10 ms");
    bands_ = static_cast<size_t>(mel.bands);
    step_ = static_cast<size_t>(mel.step);
    frames_ = static_cast<size_t>(fields.integer("frames", 2, 1 << 16));
    fields.done();
    mel_.emplace(mel);
  }

  void read_postprocess() {
    Fields fields(module_.manifest().postprocess, module_.manifest().id() + ": postprocess");
    vocabulary_.emplace(module_.files().open(fields.path("vocabulary")));
    const std::string config = fields.path("config").str();
    read_config(parse_json(module_.files().open(RelPath::parse(config)).text()), config);
    limits_.beams = static_cast<size_t>(fields.integer("beams", 1, 64));
    context_ = static_cast<size_t>(fields.integer("context", 2, 1 << 16));
    rules_.latest_start = std::lround(std::clamp(fields.number("latest_start"), 0.0, 1e6) * 50);
    no_speech_ = fields.number("no_speech");
    log_probability_ = fields.number("log_probability");
    carry_text_ = fields.boolean("carry_text");
    fields.done();
    start_token_ = vocabulary_->id("<|startoftranscript|>");
    before_token_ = vocabulary_->id("<|startofprev|>");
    silence_token_ = static_cast<size_t>(vocabulary_->id("<|nocaptions|>"));
    limits_.end = rules_.end = vocabulary_->id("<|endoftext|>");
    rules_.first_time = vocabulary_->id("<|notimestamps|>") + 1;
  }

  /// The file says more than is needed here.
  void read_config(const json& config, const std::string& name) {
    Fields fields(config, module_.manifest().id() + ": " + name);
    const auto ids = [&](const char* key) {
      std::vector<int64_t> all;
      for (const json& id : fields.list(key, 1 << 16)) {
        if (!id.is_number_unsigned()) fields.refuse(key, "is not a list of tokens");
        all.push_back(static_cast<int64_t>(id.get<uint64_t>()));
      }
      return all;
    };
    rules_.never = ids("suppress_ids");
    rules_.never_first = ids("suppress_ids_begin");
  }

  json transcribe(std::vector<float> sound) {
    const size_t all = sound.size() / step_;  // frames
    sound.resize(sound.size() + step_);
    std::vector<float> mel = (*mel_)(sound);
    mel.resize(mel.size() - bands_);
    to_whisper_scale(mel);
    SpeechDecoder decoder(module_.network("decoder"), limits_.beams);
    json segments = json::array();
    std::string text;
    std::vector<int64_t> said;
    for (size_t at = 0; at < all;) {
      const size_t count = std::min(frames_, all - at);
      const auto tokens = search(decoder, window({mel.data() + at * bands_, count * bands_}), said);
      if (!tokens) {
        at += count;
        continue;
      }
      const SpokenParts cut = cut_by_times(*tokens, rules_.first_time, static_cast<int64_t>(count));
      for (const SpokenPart& part : cut.parts) {
        const std::string words = text_of(part.tokens);
        if (part.start == part.end || trim(words).empty()) continue;
        segments.push_back({{"start", seconds(at, part.start)},
                            {"end", seconds(at, part.end)},
                            {"text", trim(words)}});
        text += words;
        if (carry_text_) said.insert(said.end(), part.tokens.begin(), part.tokens.end());
      }
      at += static_cast<size_t>(cut.next);
    }
    return {{"text", trim(text)}, {"segments", std::move(segments)}};
  }

  static double seconds(size_t window, int64_t frame) {
    return static_cast<double>(static_cast<int64_t>(window) + frame) / frames_a_second;
  }

  std::string text_of(std::span<const int64_t> tokens) const {
    std::vector<int64_t> words;
    std::ranges::copy_if(tokens, std::back_inserter(words),
                         [&](int64_t token) { return token < rules_.end; });
    return vocabulary_->text(words);
  }

  /// float32[1, bands, frames] of frames [count, bands]; zeros behind them.
  Tensor window(std::span<const float> some) const {
    Tensor tensor(DType::f32, {1, static_cast<int64_t>(bands_), static_cast<int64_t>(frames_)});
    std::fill_n(tensor.data<float>(), tensor.numel(), 0.0F);
    for (size_t i = 0; i < some.size(); ++i)
      tensor.data<float>()[i % bands_ * frames_ + i / bands_] = some[i];
    return tensor;
  }

  /// The tokens of a window; nothing when nobody speaks in it.
  std::optional<std::vector<int64_t>> search(SpeechDecoder& decoder, const Tensor& mel,
                                             const std::vector<int64_t>& said) {
    const std::vector<Tensor> heard = module_.network("encoder").run({mel});
    if (heard.empty())
      fail(Code::refused, module_.manifest().id(), ": the network 'encoder' gives nothing");
    std::vector<int64_t> prompt;
    if (!said.empty()) {
      prompt.push_back(before_token_);
      const size_t most = context_ / 2 - 1;
      prompt.insert(
          prompt.end(),
          said.size() > most ? said.end() - static_cast<std::ptrdiff_t>(most) : said.begin(),
          said.end());
    }
    limits_.longest = std::min(context_ / 2, context_ - prompt.size());
    prompt.push_back(start_token_);
    const std::span<float> first = decoder.start(std::span(heard).subspan(1), prompt);
    if (first.size() != static_cast<size_t>(vocabulary_->size()))
      fail(Code::refused, module_.manifest().id(), ": the network 'decoder' knows ", first.size(),
           " tokens, the vocabulary ", vocabulary_->size());
    const double silence = probability(first, silence_token_);
    const TokenRow best = search_tokens(
        first, limits_, [&](std::span<const Branch> branches) { return decoder.step(branches); },
        [&](std::span<const int64_t> tokens, std::span<float> logits) {
          rules_.apply(tokens, logits);
        });
    const double likely = best.log_probability / static_cast<double>(best.tokens.size() + 1);
    if (silence > no_speech_ && !(likely > log_probability_)) return {};
    return best.tokens;
  }

  static double probability(std::span<const float> logits, size_t token) {
    double sum = 0;
    for (const float x : logits) sum += std::exp(double{x} - logits[token]);
    return 1 / sum;
  }

  Module& module_;
  int rate_ = 0;
  size_t bands_ = 0, step_ = 0, frames_ = 0, context_ = 0;
  std::optional<MelSpectrogram> mel_;
  std::optional<ByteVocabulary> vocabulary_;
  int64_t start_token_ = 0, before_token_ = 0;
  size_t silence_token_ = 0;
  TimestampRules rules_;
  SearchLimits limits_;
  double no_speech_ = 0, log_probability_ = 0;
  bool carry_text_ = false;
};

}  // namespace

std::unique_ptr<Task> make_speech_recognition(Module& module) {
  return std::make_unique<SpeechRecognition>(module);
}

}  // namespace hub
