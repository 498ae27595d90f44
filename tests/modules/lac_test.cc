// LAC: the segmenter on small dictionaries; words, tags and ranks of the real modules as the
// package gives them.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text.h"
#include "modules/lac_segment.h"
#include "tests/modules/default_module.h"
#include "tests/modules/text_sample.h"

using namespace hub;
using Strings = std::vector<std::string>;

namespace {

MappedFile file_of(const std::string& name, const std::string& text) {
  const std::string path = HUB_BINARY_DIR "/lac_test_" + name;
  write_file(path, text);
  return MappedFile::open(path);
}

Strings pieces(const LacSegmenter& segmenter, std::string_view text) {
  const auto ends = code_point_ends(text);
  Strings out;
  for (const TextSpan& s : segmenter.cut(text, ends)) {
    const size_t from = s.start == 0 ? 0 : ends[s.start - 1];
    out.emplace_back(text.substr(from, ends[s.end - 1] - from));
  }
  return out;
}

json goldens() { return json::parse(read_file(HUB_SOURCE_DIR "/tests/data/text/lac.json")); }

json analyse(Module& module, const std::string& text) {
  return module.task().predict(std::vector{text_sample(text)}, {}).at(0)["words"];
}

std::string joined(const json& words) {
  std::string text;
  for (const json& word : words) text += word["text"].get<std::string>();
  return text;
}

Silent silent;

Module& lac() {
  static const auto module = default_module("lac", silent);
  return *module;
}

}  // namespace

TEST_CASE("the segmenter takes the likeliest cut") {
  const LacSegmenter s(file_of(
      "seg",
      "科技 5\n高科技 9\n技公 3\n公司 7\nC++ 2\n一家 1\n家一 1\n甲乙 1\n丙丁 1\n甲乙丙 1\n"));
  CHECK(pieces(s, "高科技公司") == Strings{"高科技", "公司"});
  CHECK(pieces(s, "科技公") ==
        Strings{"科技", "公"});  // as likely as 科, 技公: the longer first word wins
  CHECK(pieces(s, "一家一") == Strings{"一家", "一"});
  CHECK(pieces(s, "甲乙丙丁") == Strings{"甲乙", "丙丁"});  // 2 · 2 beats 3 · 1
  CHECK(pieces(s, "用C++写v2") == Strings{"用", "C++", "写", "v2"});
  CHECK(pieces(s, "ab+cＤé") == Strings{"ab", "+", "c", "Ｄ", "é"});
  CHECK(pieces(s, " \t ") == Strings{" ", "\t", " "});
  CHECK(pieces(s, "").empty());
}

TEST_CASE("dictionaries that are not are refused by line") {
  CHECK_THROWS_WITH(LacSegmenter(file_of("bad1", "一 1\n二\n")), Catch::Contains("line 2"));
  CHECK_THROWS_WITH(LacSegmenter(file_of("bad2", "一 1\n二 x\n")), Catch::Contains("line 2"));
  CHECK_THROWS_WITH(LacSegmenter(file_of("bad3", "一 1\n二 -1\n")), Catch::Contains("line 2"));
  CHECK_THROWS_AS(LacSegmenter(file_of("bad4", "")), Error);
  CHECK_THROWS_WITH(LacVocabulary(file_of("bad5", "0\ta\n"), file_of("q2b", "Ａ\tA\n")),
                    Catch::Contains("OOV"));
  CHECK_THROWS_WITH(read_lac_tags("0\ta-B\n99999999\tb-B\n"), Catch::Contains("line 2"));
}

TEST_CASE("units are whole words or single characters with replacements") {
  const LacSegmenter s(file_of("units_seg", "甲乙 1\n丙丁 1\n"));
  const LacVocabulary v(file_of("units_words", "0\t,\n1\t甲乙\n2\t丙\n3\t丁\n2\t弎\n4\tOOV\n"),
                        file_of("units_q2b", "，\t,\n三\t弎\n"));
  const std::string text = "甲乙，丙丁三x";
  const auto ends = code_point_ends(text);
  const LacUnits got = v.units(text, ends, s.cut(text, ends));
  CHECK(got.ids == std::vector<int64_t>{1, 0, 2, 3, 2, 4});
  CHECK(got.units[0].end == 2);
  CHECK(got.units[2].start == 3);
}

TEST_CASE("lac gives the words and tags of the package") {
  for (const json& golden : goldens()) {
    const json words = analyse(lac(), golden["text"]);
    INFO(golden["text"]);
    REQUIRE(words.size() == golden["words"].size());
    size_t at = 0;
    for (size_t i = 0; i < words.size(); ++i) {
      CHECK(words[i]["text"] == golden["words"][i]);
      CHECK(words[i]["tag"] == golden["tags"][i]);
      CHECK(words[i]["start"] == at);
      at += decode_utf8(words[i]["text"].get<std::string>()).size();
      CHECK(words[i]["end"] == at);
      CHECK(!words[i].contains("rank"));
    }
  }
}

TEST_CASE("the network's path is the package's for the package's ids") {
  for (const json& golden : goldens()) {
    const std::vector<int64_t> ids = golden["ids"];
    const auto rows = static_cast<int64_t>(ids.size());
    Session& session = lac().network("lac");
    std::vector<Tensor> inputs(2);
    inputs[session.input_index("words")] = Tensor::ints(ids).reshaped({rows, 1});
    inputs[session.input_index("words.offsets")] = Tensor::ints({0, rows});
    const Tensor path = session.run(inputs)[0];
    std::vector<float> wanted = golden["path"];
    CHECK(path.to_floats() == wanted);

    const Files& files = lac().files();
    const auto open = [&](const char* name) { return files.open(RelPath::parse(name)); };
    const std::string text = golden["text"];
    const auto ends = code_point_ends(text);
    const auto cut = LacSegmenter(open("conf/small_seg.dic")).cut(text, ends);
    CHECK(LacVocabulary(open("conf/word.dic"), open("conf/q2b.dic")).units(text, ends, cut).ids ==
          ids);
  }
}

TEST_CASE("lac-rank adds the importance of each word") {
  const auto module = default_module("lac-rank", silent);
  for (const json& golden : goldens()) {
    const json words = analyse(*module, golden["text"]);
    REQUIRE(words.size() == golden["words"].size());
    for (size_t i = 0; i < words.size(); ++i) {
      CHECK(words[i]["text"] == golden["words"][i]);
      CHECK(words[i]["rank"] == golden["ranks"][i]);
    }
  }
  CHECK(analyse(*module, "").empty());
}

TEST_CASE("the words of any text joined are the text") {
  for (const char* text : {"        LAC是个优秀的分词工具", " ", "\t", "早上测量血糖10.1mmol/l",
                           "ＬＡＣ，１２３　全角！", "a\tb\n c", "😀👩‍💻表情", "青花瓷",
                           "𠀀𠀁", "e\u0301"}) {
    INFO(text);
    const json words = analyse(lac(), text);
    CHECK(joined(words) == text);
    CHECK(!words.empty());
  }
  CHECK(analyse(lac(), "") == json::array());
}

TEST_CASE("a text's result does not depend on its neighbours") {
  std::vector<Sample> samples;
  for (int i = 0; i < 100; ++i) {
    samples.push_back(text_sample(i == 40      ? ""
                                  : i % 3 == 0 ? "青花瓷"
                                               : goldens()[static_cast<size_t>(i % 4)]["text"]));
  }
  const auto together = lac().task().predict(samples, {});
  REQUIRE(together.size() == 100);
  for (size_t i : {0, 1, 2, 39, 40, 41, 99})
    CHECK(together[i]["words"] == analyse(lac(), samples[i].text));
}

TEST_CASE("text that is not UTF-8 is refused by name") {
  Sample bad = text_sample("\xb0\xd9\xb6\xc8");
  bad.name = "gbk.txt";
  CHECK_THROWS_WITH(lac().task().predict(std::vector{bad}, {}),
                    Catch::Contains("gbk.txt") && Catch::Contains("UTF-8"));
}
