// Speech synthesis: the phonemes of each sentence through one network (VITS, as Piper exports it),
// sound out. preprocess: voice, a file of Piper's form with the phonemes' numbers and the scales of
// noise, length and rhythm; seed, of the noise.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "base/error.h"
#include "base/text.h"
#include "hub/fields.h"
#include "modules/module.h"
#include "modules/phonemes.h"

namespace hub {
namespace {

class SpeechSynthesis final : public Task {
 public:
  explicit SpeechSynthesis(Module& module);
  InputKind input() const override { return InputKind::text; }
  std::vector<json> predict(std::span<const Sample> samples, const RunOptions& options) override;

 private:
  void read_voice(const json& voice);
  std::vector<int64_t> numbers(std::u32string_view sentence);
  void speak(std::u32string_view sentence, std::vector<float>& sound);
  Session& network();

  Module& module_;
  std::string language_;
  int rate_ = 0;
  float scales_[3] = {};  ///< of the noise in the sound, of all lengths, of the noise in them
  int64_t seed_ = 0;
  std::unordered_map<char32_t, std::vector<int64_t>> numbers_;
  bool seeded_ = false, noted_ = false;
};

SpeechSynthesis::SpeechSynthesis(Module& module) : module_(module) {
  Fields pre(module.manifest().preprocess, module.manifest().id() + ": preprocess");
  const RelPath voice = pre.path("voice");
  seed_ = pre.integer("seed", 0, int64_t{1} << 31);
  pre.done();
  Fields post(module.manifest().postprocess, module.manifest().id() + ": postprocess");
  post.done();
  within(concat(module.manifest().id(), ": ", voice.str()),
         [&] { read_voice(parse_json(module.files().open(voice).text())); });
}

/// Keys that nobody here asks for are Piper's own.
void SpeechSynthesis::read_voice(const json& voice) {
  Fields fields(voice, "voice");
  fields.choice("phoneme_type", {"espeak"}, "espeak");
  fields.integer("num_speakers", 1, 1);
  rate_ = static_cast<int>(
      Fields(fields.object("audio"), "audio").integer("sample_rate", 1000, 192'000));
  Fields espeak(fields.object("espeak"), "espeak");
  language_ = espeak.text("voice");
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  };
  if (language_.size() > 32 || !std::all_of(language_.begin(), language_.end(), plain))
    espeak.refuse("voice", "is no name of a voice");
  Fields inference(fields.object("inference"), "inference");
  const char* keys[] = {"noise_scale", "length_scale", "noise_w"};
  for (size_t i = 0; i < 3; ++i) {
    const double value = inference.number(keys[i]);
    if (!(value >= (i == 1 ? 0.1 : 0) && value <= 10)) inference.refuse(keys[i], "is out of range");
    scales_[i] = static_cast<float>(value);
  }
  Fields map(fields.object("phoneme_id_map"), "phoneme_id_map");
  for (const auto& [key, value] : fields.object("phoneme_id_map").items()) {
    const std::u32string phoneme = decode_utf8(key);
    if (phoneme.size() != 1) map.refuse(key, "is not one character");
    for (const json& number : map.list(key, 16)) {
      if (!number.is_number_integer() || number < 0 || number > 65'535)
        map.refuse(key, "is not a list of numbers of phonemes");
      numbers_[phoneme[0]].push_back(number);
    }
  }
  for (const char* needed : {"^", "_", "$"}) {
    if (!map.has(needed)) map.refuse(needed, "is missing");
  }
}

std::vector<json> SpeechSynthesis::predict(std::span<const Sample> samples,
                                           const RunOptions& options) {
  std::vector<json> results;
  for (const Sample& sample : samples) {
    Audio audio{rate_, {}};
    json spoken = json::array();
    for (const std::u32string& sentence : within(printable(sample.name.substr(0, 60)), [&] {
           return phonemes_of(sample.text, language_);
         })) {
      speak(sentence, audio.samples);
      spoken.push_back(encode_utf8(sentence));
    }
    if (spoken.empty()) fail(Code::refused, "'", printable(sample.name), "' holds nothing to say");
    results.push_back({{"seconds", static_cast<double>(audio.samples.size()) / rate_},
                       {"rate", rate_},
                       {"phonemes", std::move(spoken)}});
    if (options.sounds != nullptr) options.sounds->push_back(std::move(audio));
  }
  return results;
}

/// The numbers of "^", each phoneme and "$", with "_" behind all but the last.
std::vector<int64_t> SpeechSynthesis::numbers(std::u32string_view sentence) {
  std::vector<int64_t> all;
  const auto add = [&](char32_t phoneme) {
    const std::vector<int64_t>& some = numbers_.at(phoneme);
    all.insert(all.end(), some.begin(), some.end());
  };
  add(U'^');
  add(U'_');
  for (const char32_t phoneme : sentence) {
    if (!numbers_.contains(phoneme)) {
      if (!std::exchange(noted_, true)) {
        module_.progress().note(concat(module_.manifest().id(), " does not know the phoneme '",
                                       encode_utf8({&phoneme, 1}), "' and leaves it out"));
      }
      continue;
    }
    add(phoneme);
    add(U'_');
  }
  add(U'$');
  return all;
}

/// The network with a seed in each call that draws numbers: the same text has the same sound.
Session& SpeechSynthesis::network() {
  if (!std::exchange(seeded_, true)) {
    Program program = module_.program("main");
    int64_t seed = seed_;
    for (OpCall& call : program.ops) {
      if (call.op->random) call.attrs.set("seed", seed++);
    }
    module_.use("main", std::move(program));
  }
  return module_.network("main");
}

/// Adds the sound of a sentence, made as loud as can be as Piper does. What a network is given to
/// remember grows with the square of a sentence's length: one without end is spoken in parts.
void SpeechSynthesis::speak(std::u32string_view sentence, std::vector<float>& sound) {
  constexpr size_t longest = 600;
  while (sentence.size() > longest) {
    size_t cut = sentence.rfind(U' ', longest);
    if (cut == std::u32string_view::npos || cut == 0) cut = longest;
    speak(sentence.substr(0, cut), sound);
    sentence.remove_prefix(cut);
  }
  const std::vector<int64_t> ids = numbers(sentence);
  const auto count = static_cast<int64_t>(ids.size());
  Session& session = network();
  std::vector<Tensor> inputs(3);
  if (session.program().inputs.size() != inputs.size())
    fail(Code::refused, module_.manifest().id(), ": the network takes ",
         session.program().inputs.size(), " inputs, wanted input, input_lengths and scales");
  Tensor& phonemes = inputs[session.input_index("input")] = Tensor(DType::i64, {1, count});
  std::copy(ids.begin(), ids.end(), phonemes.data<int64_t>());
  Tensor& length = inputs[session.input_index("input_lengths")] = Tensor(DType::i64, {1});
  *length.data<int64_t>() = count;
  Tensor& scales = inputs[session.input_index("scales")] = Tensor(DType::f32, {3});
  std::copy(std::begin(scales_), std::end(scales_), scales.data<float>());
  const Tensor found = session.run(inputs).at(0);
  if (found.dtype() != DType::f32)
    fail(Code::refused, module_.manifest().id(), ": the network gives ", found.spec().str(),
         ", wanted a sound in float32");
  const std::span<const float> samples(found.data<float>(), static_cast<size_t>(found.numel()));
  float peak = 0;
  for (const float sample : samples) {
    if (!std::isfinite(sample))
      fail(Code::numeric, module_.manifest().id(), ": the network gave a sound that is no number");
    peak = std::max(peak, std::fabs(sample));
  }
  const float scale = peak < 1e-8F ? 0.0F : 1 / peak;
  for (const float sample : samples) sound.push_back(sample * scale);
}

}  // namespace

std::unique_ptr<Task> make_speech_synthesis(Module& module) {
  return std::make_unique<SpeechSynthesis>(module);
}

}  // namespace hub
