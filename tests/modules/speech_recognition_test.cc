// Speech recognition: Whisper's spectrogram, rules and search on made-up numbers, a small network
// step by step, and the module on the golden's clip.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <nlohmann/json.hpp>
#include <random>

#include "modules/byte_vocabulary.h"
#include "modules/mel.h"
#include "modules/network.h"
#include "modules/speech_decoder.h"
#include "modules/timestamps.h"
#include "tests/error_of.h"
#include "tests/modules/default_module.h"
#include "tests/modules/media.h"
#include "tests/modules/sound.h"

using namespace hub;
using Ids = std::vector<int64_t>;

TEST_CASE("a spectrogram on Whisper's scale is faster-whisper's") {
  // FeatureExtractor of faster-whisper 1.2.1 on the same tone, but for its last frame.
  std::vector<float> sound = tone(16000, 2100);
  sound.resize(sound.size() + 160);
  std::vector<float> got = MelSpectrogram({.bands = 80, .mirrored = true})(sound);
  got.resize(got.size() - 80);
  to_whisper_scale(got);
  const Tensor wanted = read_npy(MappedFile::open(media_path("tone_whisper.npy")));
  REQUIRE(wanted.shape() == Shape{14, 80});
  REQUIRE(got.size() == 14 * 80);
  for (size_t i = 0; i < got.size(); ++i)
    CHECK(got[i] == Approx(wanted.data<float>()[i]).margin(2e-4));
  std::vector<float> silence(80);
  to_whisper_scale(silence);
  CHECK(silence == std::vector<float>(80, -1.5F));
}

TEST_CASE("the mirror image of a steady sound is as steady, however short it is") {
  for (const size_t samples : {0, 1, 2, 3, 150, 500}) {
    INFO(samples);
    const std::vector<float> got =
        MelSpectrogram({.mirrored = true})(std::vector<float>(samples, 0.5F));
    REQUIRE(got.size() == (1 + samples / 160) * 40);
    for (size_t i = 0; i < got.size(); ++i) {
      CHECK(std::isfinite(got[i]));
      CHECK(got[i] == Approx(got[i % 40]).margin(1e-9));
    }
  }
}

TEST_CASE("a sound that is its own mirror image has the same beginning and end") {
  std::vector<float> sound = tone(16000, 321);
  for (size_t i = 0; i < 160; ++i) sound[320 - i] = sound[i];
  const std::vector<float> got = MelSpectrogram({.mirrored = true})(sound);
  REQUIRE(got.size() == 3 * 40);
  for (size_t i = 0; i < 40; ++i) CHECK(got[i] == Approx(got[80 + i]).epsilon(1e-5));
}

TEST_CASE("tokens of bytes become text") {
  const ByteVocabulary words(MappedFile::of("a\n\u0120b\n\u00c3\n\u00a9\n<|end|>\n\u0120\n"));
  CHECK(words.size() == 6);
  CHECK(words.id("<|end|>") == 4);
  CHECK(words.text(Ids{0, 1, 5}) == "a b ");
  CHECK(words.text(Ids{0, 2, 3}) == "a\u00e9");  // two bytes of one character
  CHECK(words.text(Ids{2, 0}) ==
        "\ufffd"
        "a");  // half of one
  CHECK(words.text({}).empty());
  CHECK_THAT(error_of(Code::refused, [&] { words.id("b"); }), Catch::Contains("no token 'b'"));
  error_of(Code::refused, [] { ByteVocabulary(MappedFile::of("a\n\xff\n")); });
}

namespace {

/// Tokens 0 to 3 are text, 4 ends, 5 says that there are no times, 6 to 10 are times.
const TimestampRules rules{
    .end = 4, .first_time = 6, .latest_start = 2, .never = {1}, .never_first = {7}};

/// Which of the tokens may follow, with these logits.
Ids allowed(const Ids& tokens, std::vector<float> logits = std::vector<float>(11)) {
  rules.apply(tokens, logits);
  Ids left;
  for (size_t i = 0; i < logits.size(); ++i)
    if (std::isfinite(logits[i])) left.push_back(static_cast<int64_t>(i));
  return left;
}

/// Logits in which a text, and the end, are likelier than all times together.
std::vector<float> likely_text() {
  std::vector<float> logits(11);
  logits[2] = logits[4] = 5;
  return logits;
}

}  // namespace

TEST_CASE("times follow Whisper's rules") {
  CHECK(allowed({}, likely_text()) == Ids{6, 8});         // a time, not late, not unwanted
  CHECK(allowed({6}, likely_text()) == Ids{0, 2, 3, 4});  // the first one is not doubled
  CHECK(allowed({6, 0}, likely_text()) == Ids{0, 2, 3, 4, 6, 7, 8, 9, 10});
  CHECK(allowed({7, 0}, likely_text()) == Ids{0, 2, 3, 4, 7, 8, 9, 10});  // not back
  CHECK(allowed({6, 0, 8}, likely_text()) == Ids{4, 8, 9, 10});           // its pair, or the end
  CHECK(allowed({6, 0, 8, 9}, likely_text()) == Ids{0, 2, 3, 4});
  // Equal logits: the times together are likelier than each text.
  CHECK(allowed({6, 0}) == Ids{6, 7, 8, 9, 10});
  CHECK(allowed({9, 0}) == Ids{9, 10});
  CHECK(allowed({10, 0}, std::vector<float>(11)) == Ids{0, 2, 3, 4, 10});  // one is not more
  CHECK(allowed({6, 0, 8}) == Ids{8, 9, 10});
}

TEST_CASE("transcripts are cut at pairs of times") {
  struct Case {
    Ids tokens;
    std::vector<SpokenPart> parts;
    int64_t next;
  };
  const Case cases[] = {{{6, 0, 1, 8}, {{0, 4, {6, 0, 1, 8}}}, 300},  // one part to the end
                        {{6, 0, 1}, {{0, 300, {6, 0, 1}}}, 300},      // without its end
                        {{6, 0, 6}, {{0, 300, {6, 0, 6}}}, 300},      // ends at 0: unknown
                        {{}, {{0, 300, {}}}, 300},
                        {{6, 0, 8, 8, 1, 10}, {{0, 4, {6, 0, 8}}, {4, 8, {8, 1, 10}}}, 300},
                        {{6, 0, 8, 8, 1}, {{0, 4, {6, 0, 8}}}, 4},  // again from the last pair
                        {{7, 0, 8, 9, 1, 10, 10}, {{2, 4, {7, 0, 8}}, {6, 8, {9, 1, 10}}}, 8},
                        {{6, 0, 6, 6, 1}, {{0, 0, {6, 0, 6}}}, 300}};  // it goes on all the same
  for (const Case& c : cases) {
    INFO(json(c.tokens).dump());
    const SpokenParts got = cut_by_times(c.tokens, 6, 300);
    CHECK(got.next == c.next);
    REQUIRE(got.parts.size() == c.parts.size());
    for (size_t i = 0; i < c.parts.size(); ++i) {
      CHECK(got.parts[i].start == c.parts[i].start);
      CHECK(got.parts[i].end == c.parts[i].end);
      CHECK(got.parts[i].tokens == c.parts[i].tokens);
    }
  }
}

namespace {

/// A language of three words and an end, 3, in which what follows depends on the last word alone.
constexpr size_t words = 4;
const float follows[words + 1][words] = {{-2, -1, -0.5F, -4},
                                         {-3, -0.1F, -4, -4},
                                         {-1, -2, -1, -0.5F},
                                         {0, 0, 0, 0},
                                         {-1, -1.1F, -3, -9}};

TokenRow search(size_t beams, size_t longest, size_t* most_branches = nullptr) {
  std::vector<int64_t> last;
  std::vector<float> logits(follows[words], follows[words] + words);
  std::vector<float> first = logits;
  const auto next = [&](std::span<const Branch> branches) {
    if (most_branches) *most_branches = std::max(*most_branches, branches.size());
    logits.clear();
    for (const Branch& b : branches) {
      if (beams == 2) CHECK(b.token != 3);  // of four candidates two go on
      const float* row = follows[b.token];
      logits.insert(logits.end(), row, row + words);
    }
    return std::span<float>(logits);
  };
  return search_tokens(first, {.beams = beams, .longest = longest, .end = 3}, next,
                       [](std::span<const int64_t>, std::span<float>) {});
}

/// The log probability of a row, its end included where it is shorter than `longest`.
double probability_of(const Ids& tokens, bool ended) {
  double sum = 0;
  size_t last = words;
  Ids all = tokens;
  if (ended) all.push_back(3);
  for (const int64_t token : all) {
    double total = 0;
    for (const float x : follows[last]) total += std::exp(x);
    sum += follows[last][token] - std::log(total);
    last = static_cast<size_t>(token);
  }
  return sum;
}

}  // namespace

TEST_CASE("a search gives rows with the probabilities that they have") {
  const TokenRow greedy = search(1, 6);
  CHECK(greedy.tokens == Ids{0, 2});
  CHECK(greedy.log_probability == Approx(probability_of(greedy.tokens, true)));
  for (const size_t beams : {size_t{2}, size_t{4}}) {
    size_t branches = 0;
    const TokenRow row = search(beams, 6, &branches);
    CHECK(branches == beams);
    CHECK(row.log_probability ==
          Approx(probability_of(row.tokens, row.tokens.size() < 6)).margin(1e-6));
    CHECK(row.log_probability / static_cast<double>(row.tokens.size()) >=
          greedy.log_probability / 2);
  }
  CHECK(search(2, 1).tokens == Ids{0});
  std::vector<float> bad(4, std::nanf(""));
  error_of(Code::numeric, [&] {
    search_tokens(bad, {.beams = 1, .longest = 2, .end = 3}, {},
                  [](std::span<const int64_t>, std::span<float>) {});
  });
}

namespace {

constexpr int64_t width = 8, vocabulary = 20, heard = 6;

/// The tensors of one layer, noise.
NamedTensors small_weights() {
  std::mt19937 random(3);
  NamedTensors out;
  const auto add = [&](const std::string& name, const Shape& shape) {
    Tensor tensor(DType::f32, shape);
    for (int64_t i = 0; i < tensor.numel(); ++i)
      tensor.data<float>()[i] = static_cast<float>(random() % 2001) / 1000 - 1;
    out.emplace(name, std::move(tensor));
  };
  const auto dense = [&](const std::string& name, int64_t to, int64_t from) {
    add(name + "/weight", {to, from});
    add(name + "/bias", {to});
  };
  const auto norm = [&](const std::string& name) {
    add(name + "layer_norm/gamma", {width});
    add(name + "layer_norm/beta", {width});
  };
  add("encoder/conv1/weight", {width, 5, 3});
  add("encoder/conv1/bias", {width});
  add("encoder/conv2/weight", {width, width, 3});
  add("encoder/conv2/bias", {width});
  add("encoder/position_encodings/encodings", {heard, width});
  add("decoder/embeddings/weight", {vocabulary, width});
  add("decoder/position_encodings/encodings", {200, width});
  for (const std::string side : {"encoder/", "decoder/"}) {
    const std::string layer = side + "layer_0/";
    norm(layer + "self_attention/");
    dense(layer + "self_attention/linear_0", 3 * width, width);
    dense(layer + "self_attention/linear_1", width, width);
    norm(layer + "ffn/");
    dense(layer + "ffn/linear_0", 12, width);
    dense(layer + "ffn/linear_1", width, 12);
    norm(side);
  }
  norm("decoder/layer_0/attention/");
  dense("decoder/layer_0/attention/linear_0", width, width);
  dense("decoder/layer_0/attention/linear_1", 2 * width, width);
  dense("decoder/layer_0/attention/linear_2", width, width);
  return out;
}

Program small(const std::string& side) {
  return build_network("whisper-" + side, small_weights(),
                       {{"layers", 1}, {"width", width}, {"heads", 2}, {"inner", 12}});
}

std::vector<Tensor> small_memory() {
  Session encoder(small("encoder"));
  Tensor mel(DType::f32, {1, 5, 2 * heard});
  for (int64_t i = 0; i < mel.numel(); ++i) mel.data<float>()[i] = std::sin(static_cast<float>(i));
  std::vector<Tensor> outputs = encoder.run({mel});
  REQUIRE(outputs.size() == 3);
  CHECK(outputs[0].shape() == Shape{1, heard, width});
  return {outputs[1], outputs[2]};
}

std::vector<float> last_logits(std::span<const Tensor> memory, const Ids& tokens) {
  Session network(small("decoder"));
  SpeechDecoder decoder(network, 1);
  const std::span<float> logits = decoder.start(memory, tokens);
  return {logits.begin(), logits.end()};
}

void check_equal(std::span<const float> got, std::span<const float> wanted) {
  REQUIRE(got.size() == wanted.size());
  for (size_t i = 0; i < got.size(); ++i) CHECK(got[i] == Approx(wanted[i]).margin(2e-4));
}

}  // namespace

TEST_CASE("steps of several hypotheses give what each of them gives alone and at once") {
  const std::vector<Tensor> memory = small_memory();
  Session network(small("decoder"));
  SpeechDecoder decoder(network, 3);
  for (const size_t prompt_size : {size_t{1}, size_t{3}, size_t{70}}) {  // also in one plan
    Ids prompt;
    for (size_t i = 0; i < prompt_size; ++i) prompt.push_back(static_cast<int64_t>(i * 7 % 20));
    check_equal(decoder.start(memory, prompt), last_logits(memory, prompt));
    std::vector<Ids> rows{prompt};
    std::mt19937 random(5);
    for (int step = 0; step < 60; ++step) {  // more than there is room for at first
      std::vector<Branch> branches;
      std::vector<Ids> longer;
      for (int i = 0; i < 3; ++i) {
        branches.push_back({random() % rows.size(), static_cast<int64_t>(random() % vocabulary)});
        longer.push_back(rows[branches.back().parent]);
        longer.back().push_back(branches.back().token);
      }
      rows = longer;
      const std::span<float> logits = decoder.step(branches);
      REQUIRE(logits.size() == 3 * vocabulary);
      if (step % 15 != 14) continue;
      for (size_t i = 0; i < 3; ++i)
        check_equal(logits.subspan(i * vocabulary, vocabulary), last_logits(memory, rows[i]));
    }
  }
}

TEST_CASE("both networks have gradients for all their parameters") {
  for (const char* side : {"encoder", "decoder"}) {
    INFO(side);
    Program program = small(side);
    Vars parameters;
    for (size_t i = 0; i < program.values.size(); ++i) {
      const Var v{&program, static_cast<ValueId>(i)};
      if (v.constant() && program[v.id].name.find('/') != std::string::npos)
        parameters.push_back(v);
    }
    Var loss;
    for (const ValueId id : program.outputs) {
      const Var sum = apply("reduce_sum", {mul(Var{&program, id}, Var{&program, id})});
      loss = loss ? add(loss, sum) : sum;
    }
    for (const Var& gradient : append_backward(program, loss, parameters)) CHECK(bool(gradient));
  }
}

namespace {

Sample clip(const std::string& name) {
  const std::string path = HUB_SOURCE_DIR "/registry/whisper-tiny-en/examples/" + name;
  Sample sample;
  sample.name = name;
  sample.audio = decode_audio(read_file(path), path);
  return sample;
}

std::unique_ptr<Module> with_beams(int beams) {
  static Silent silent;
  Installed module = installed("whisper-tiny-en");
  module.manifest.postprocess["beams"] = beams;
  return Module::open(std::move(module), silent);
}

}  // namespace

TEST_CASE("one beam gives the golden's text, in any company") {
  const auto module = with_beams(1);
  const std::vector<Sample> both{clip("speech16k.flac"), clip("weather.flac")};
  const json got = module->task().predict(both, {});
  CHECK(got.at(0)["text"] ==
        "Congratulations! You have successfully installed and executed the asterisk open source "
        "PBX. You have also installed a set of samples.");
  CHECK(got.at(1)["text"] == "What's the weather today?");
  CHECK(module->task().predict({&both[1], 1}, {}).at(0) == got.at(1));
}

TEST_CASE("silent and empty sounds hold no text") {
  const auto module = with_beams(5);
  for (const size_t samples : {0, 1, 159, 160, 16000}) {
    INFO(samples);
    Sample sample;
    sample.name = "clip";
    sample.audio = {16000, std::vector<float>(samples)};
    const json got = module->task().predict({&sample, 1}, {}).at(0);
    CHECK(got["segments"].is_array());
    CHECK(got["text"].is_string());
    if (samples < 160) CHECK(got["segments"].empty());
  }
}

TEST_CASE("manifests of speech recognition that do not fit are refused") {
  Silent silent;
  const auto refused = [&](const std::function<void(Manifest&)>& change, const char* why) {
    Installed module = installed("whisper-tiny-en");
    change(module.manifest);
    CHECK_THAT(error_of(Code::refused, [&] { Module::open(std::move(module), silent)->task(); }),
               Catch::Contains(why));
  };
  refused([](Manifest& m) { m.postprocess["beams"] = 0; }, "'beams'");
  refused([](Manifest& m) { m.preprocess["step"] = 100; }, "'step'");
  refused([](Manifest& m) { m.postprocess["odd"] = 1; }, "'odd'");
}
