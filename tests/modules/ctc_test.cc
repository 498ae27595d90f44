#include "modules/ctc.h"

#include <catch2/catch.hpp>

#include "tests/error_of.h"

using namespace hub;

namespace {

/// Each step gives `probability` to one of the classes.
CtcText decode(const CtcCharacters& characters,
               const std::vector<std::pair<size_t, float>>& steps) {
  std::vector<float> probabilities;
  for (const auto& [best, probability] : steps) {
    std::vector<float> step(characters.classes(),
                            (1 - probability) / static_cast<float>(characters.classes() - 1));
    step[best] = probability;
    probabilities.insert(probabilities.end(), step.begin(), step.end());
  }
  return characters.decode(probabilities);
}

}  // namespace

TEST_CASE("greedy decoding drops blanks and repeats") {
  const CtcCharacters characters("a\n\xE7\x99\xBE\n\xE3\x80\x80\n",
                                 "keys.txt");  // the ideographic space stays one
  REQUIRE(characters.classes() == 5);
  const CtcText text =
      decode(characters,
             {{0, .9f}, {1, .8f}, {1, .99f}, {0, .9f}, {1, .7f}, {2, .6f}, {4, .5f}, {3, .9f}});
  CHECK(text.text == "aa\xE7\x99\xBE \xE3\x80\x80");
  CHECK(text.score == Approx((.8 + .7 + .6 + .5 + .9) / 5));
  CHECK(decode(characters, {{0, .9f}, {0, .9f}}).text.empty());
  CHECK(decode(characters, {{0, .9f}}).score == 0);
  CHECK(characters.decode({}).text.empty());
}

TEST_CASE("a keys file is one character a line") {
  CHECK(CtcCharacters("a\nb", "keys.txt").classes() == 4);
  CHECK(CtcCharacters("a\r\nb\r\n", "keys.txt").classes() == 4);
  const auto refusal = [](std::string_view keys) {
    return error_of(Code::refused, [&] { CtcCharacters(keys, "keys.txt"); });
  };
  CHECK_THAT(refusal("a\n\nb\n"), Catch::Contains("keys.txt: line 2 is empty"));
  CHECK_THAT(refusal("a\n\xFF\n"), Catch::Contains("keys.txt: not UTF-8 at byte 2"));
}
