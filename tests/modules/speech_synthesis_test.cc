// From text to phonemes to sound: the ends of clauses, what eSpeak NG says, the golden's wave, and
// the module.
#include <catch2/catch.hpp>
#include <cmath>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/text.h"
#include "modules/phonemes.h"
#include "tests/error_of.h"
#include "tests/modules/default_module.h"
#include "tests/modules/media.h"
#include "tests/modules/text_sample.h"

using namespace hub;

namespace {

Silent silent;

std::string spoken(const std::string& text) {
  std::string all;
  for (const std::u32string& sentence : phonemes_of(text, "en-us"))
    all += (all.empty() ? "" : "|") + encode_utf8(sentence);
  return all;
}

std::vector<Audio> sounds_of(Module& module, std::vector<Sample> samples) {
  std::vector<Audio> sounds;
  RunOptions options;
  options.sounds = &sounds;
  module.task().predict(samples, options);
  return sounds;
}

}  // namespace

TEST_CASE("the end of a clause from the text that was read") {
  struct Row {
    std::u32string read;
    bool more;
    char mark;
    bool sentence;
  };
  const Row rows[] = {
      {U"Hello. W", true, '.', true},
      {U"Hello.", false, '.', true},
      {U"Hello, w", true, ',', false},
      {U"Hello: w", true, ':', false},
      {U"Hello; w", true, ';', false},
      {U"What?! N", true, '?', true},
      {U"Now!?  N", true, '!', true},
      {U"said.\"", true, '.', true},
      {U"fine \u2014 r", true, ';', false},
      {U"Wait... w", true, 0, false},
      {U"Wait\u2026 w", true, 0, false},
      {U"\u4f60\u597d\u3002\u4f60", true, '.', true},
      {U"no end", false, 0, false},
      {U"3.1", true, 0, false},
      {U"A title\n\nT", true, 0, true},
      {U"The end.\n\nT", true, '.', true},
      {U"One line.\nT", true, '.', true},
      {U"  ", true, 0, false},
      {U"", true, 0, false},
      {U"", false, 0, false},
      {U"...", false, 0, false},
  };
  for (const Row& row : rows) {
    INFO(encode_utf8(row.read));
    const ClauseEnd end = clause_end(row.read, row.more);
    CHECK(int{end.mark} == int{row.mark});
    CHECK(end.sentence == row.sentence);
  }
}

TEST_CASE("phonemes are piper-phonemize's") {
  const std::pair<const char*, const char*> rows[] = {
      {"Welcome to the model hub.", "wˈɛlkʌm tə ðə mˈɑːdəl hˈʌb."},
      {"Deep learning inference in C++.", "dˈiːp lˈɜːnɪŋ ˈɪnfɚɹəns ɪn sˈiː plˈʌsplˈʌs."},
      {"Hello, world. How are you?", "həlˈoʊ, wˈɜːld.|hˈaʊ ɑːɹ juː?"},
      {"What?! No way", "wˌʌt?|nˈoʊ wˈeɪ"},
      {"It’s fine — really.", "ɪts fˈaɪn; ɹˈiəli."},
      {"end. A", "ˈɛnd.|ˈeɪ"},
      {"Wait... what?", "wˈeɪt wˌʌt?"},
      {"Tab\tand\x01 bell\a.", "tˈæb ænd bˈɛl."},
      {"...", ""},
      {"", ""},
  };
  for (const auto& [text, wanted] : rows) {
    INFO(text);
    CHECK(spoken(text) == wanted);
  }
}

TEST_CASE("what was said before changes nothing, from any thread") {
  const std::string plain = "A hot bath, not a boat.", wanted = spoken(plain);
  const std::string mixed = "\u042f \ud55c\uad6d x\u0b95 z \u03b1\u03b2 \u5341.";
  spoken(mixed);
  CHECK(spoken(plain) == wanted);
  std::vector<std::string> got(4);
  std::vector<std::thread> threads;
  for (std::string& one : got)
    threads.emplace_back([&] {
      for (int i = 0; i < 5; ++i) one = spoken(mixed).empty() ? "" : spoken(plain);
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::string& one : got) CHECK(one == wanted);
}

TEST_CASE("texts that cannot be spoken are refused") {
  CHECK_THAT(error_of(Code::refused, [] { phonemes_of("a\xff", "en-us"); }),
             Catch::Contains("UTF-8 at byte 1"));
  CHECK_THAT(error_of(Code::refused, [] { phonemes_of(std::string(200'000, 'a'), "en-us"); }),
             Catch::Contains("200000 bytes"));
  CHECK_THAT(error_of(Code::unsupported, [] { phonemes_of("a", "no-such-voice"); }),
             Catch::Contains("'no-such-voice'"));
  CHECK(!spoken("after that").empty());
}

TEST_CASE("the network of piper-joe gives the golden's wave") {
  const std::vector<int64_t> ids{1, 35, 0, 120, 0, 61, 0, 24, 0, 23, 0, 102, 0, 25,  0, 3,  0, 32,
                                 0, 59, 0, 3,   0, 41, 0, 59, 0, 3,  0, 25,  0, 120, 0, 51, 0, 122,
                                 0, 17, 0, 59,  0, 24, 0, 3,  0, 20, 0, 120, 0, 102, 0, 15, 0, 2};
  const auto module = default_module("piper-joe", silent);
  Session& network = module->network("main");
  const auto count = static_cast<int64_t>(ids.size());
  std::vector<Tensor> inputs(3);
  inputs[network.input_index("input")] = Tensor::ints(ids).reshaped({1, count});
  inputs[network.input_index("input_lengths")] = Tensor::ints({count});
  inputs[network.input_index("scales")] = Tensor::floats({3}, {0, 1, 0});
  const Tensor wave = network.run(inputs).at(0);
  REQUIRE(wave.numel() == 28416);
  const Tensor wanted =
      read_npy(MappedFile::open(HUB_SOURCE_DIR "/tests/data/speech/welcome_every_64th.npy"));
  float most = 0;
  for (int64_t i = 0; i < wanted.numel(); ++i)
    most = std::max(most, std::fabs(wanted.data<float>()[i] - wave.data<float>()[64 * i]));
  CHECK(most < 1e-4F);
}

TEST_CASE("piper-joe says the same thing alone, together and again") {
  const auto module = default_module("piper-joe", silent);
  const std::vector<Sample> texts{text_sample("Two words."), text_sample("One"),
                                  text_sample("Two words.")};
  const std::vector<Audio> together = sounds_of(*module, texts);
  REQUIRE(together.size() == 3);
  CHECK(together[0].samples == together[2].samples);
  CHECK(sounds_of(*module, {texts[1]}).at(0).samples == together[1].samples);
  for (const Audio& sound : together) {
    CHECK(sound.rate == 22050);
    float peak = 0;
    for (const float v : sound.samples) peak = std::max(peak, std::fabs(v));
    CHECK(peak == Approx(1));
  }
  CHECK_THAT(error_of(Code::refused, [&] { sounds_of(*module, {text_sample("?")}); }),
             Catch::Contains("nothing to say"));
}
