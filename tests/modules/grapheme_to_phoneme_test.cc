// Words and how they are said, against g2p-en 2.1.0 and g2pM 0.1.2.5: words for the network in one
// call and alone, texts without anything to say, too long a word.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/error_of.h"
#include "tests/modules/default_module.h"
#include "tests/modules/text_sample.h"

using namespace hub;

namespace {

Silent silent;

/// Symbols with blanks between.
std::string said(const json& output) {
  std::string out;
  for (const json& word : output.at("words")) {
    for (const json& symbol : word.at("phonemes"))
      out += concat(out.empty() ? "" : " ", symbol.get<std::string>());
  }
  return out;
}

void check(const char* name, const std::vector<std::pair<std::string, std::string>>& rows) {
  const auto module = default_module(name, silent);
  std::vector<Sample> samples;
  for (const auto& [text, wanted] : rows) samples.push_back(text_sample(text));
  const std::vector<json> together = module->task().predict(samples, {});
  REQUIRE(together.size() == rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    INFO(rows[i].first);
    CHECK(said(together[i]) == rows[i].second);
    CHECK(module->task().predict(std::span(samples).subspan(i, 1), {}).at(0) == together[i]);
  }
}

}  // namespace

TEST_CASE("English: words that no dictionary has, punctuation, nothing") {
  check("g2p-en",
        {{"", ""},
         {"日本", ""},
         {"activationist!", "AE2 K T IH0 V EY1 SH AH0 N IH0 S T !"},
         {"activationist", "AE2 K T IH0 V EY1 SH AH0 N IH0 S T"},
         {"tensorflow", "T EH1 N S ER0 L OW0 F"},
         {"o'reilly's", "OW0 R IY1 L IY0 Z"},
         {"x-ray-ish", "Z EH1 K R W EY2 SH"},
         {"zzzzqqqq", "Z AA1 K S K AA0"},
         {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "EY2 OW0 AA1 L IY0"},
         {"supercalifragilisticexpialidocious", "S UW2 P ER0 K AH0 F L AH0 JH AO1 S IY0 AH0 P S"},
         {"the activationist", "DH AH0 AE2 K T IH0 V EY1 SH AH0 N IH0 S T"}});
  const auto module = default_module("g2p-en", silent);
  const std::vector<Sample> samples{text_sample(std::string(257, 'x'))};
  CHECK_THAT(error_of(Code::unsupported, [&] { module->task().predict(samples, {}); }),
             Catch::Contains("257 letters"));
}

TEST_CASE("Chinese: characters of several pinyin, and what is no character") {
  check("g2pm",
        {{"", ""},
         {"12, 345!", "12, 345!"},
         {"他长大了以后成为了一名音乐家。",
          "ta1 chang2 da4 le5 yi3 hou4 cheng2 wei2 le5 yi1 ming2 yin1 yue4 jia1 。"},
         {"这个问题的答案很重要，需要重新考虑。",
          "zhe4 ge4 wen4 ti2 de5 da2 an4 hen3 zhong4 yao4 ， xu1 yao4 chong2 xin1 kao3 lu:4 。"},
         {"我们都觉得很好，但是他睡觉了",
          "wo3 men5 dou1 jue2 de5 hen3 hao3 ， dan4 shi4 ta1 shui4 jiao4 le5"},
         {"中国人民银行的行长", "zhong1 guo2 ren2 min2 yin2 xing2 de5 xing2 zhang3"},
         {"abc中文def，123！", "abc zhong1 wen2 def，123！"},
         {"银行行长在长江边行走", "yin2 hang2 xing2 zhang3 zai4 chang2 jiang1 bian1 xing2 zou3"}});
}
