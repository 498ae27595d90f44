// Modules that are data only: the right answers of their manifests, alone and in a batch, and what
// their packages give beyond those.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/modules/default_module.h"
#include "tests/modules/text_sample.h"

using namespace hub;

namespace {

Silent silent;

double similarity(Module& module, const std::string& a, const std::string& b) {
  const std::vector<Sample> samples{text_sample(a), text_sample(b)};
  return module.task().predict(samples, {.pair = true}).at(0).at("similarity");
}

json words_of(Module& module, const std::string& text) {
  return module.task().predict(std::vector{text_sample(text)}, {}).at(0).at("words");
}

}  // namespace

TEST_CASE("examples are right alone and together") {
  for (const char* name :
       {"mobilenet-v2", "efficientnet-lite1", "efficientnet-lite2", "page-orientation", "lac-seg",
        "lac-small", "minilm-l6-int8", "wordllama"}) {
    const auto module = default_module(name, silent);
    const auto& examples = module->manifest().examples;
    std::vector<Sample> samples;
    for (const Example& example : examples)
      samples.push_back(example_sample(*module, example.input));
    if (module->task().input() == InputKind::text) samples.push_back(text_sample(""));
    const std::vector<json> together = module->task().predict(samples, {});
    REQUIRE(together.size() == samples.size());
    for (size_t i = 0; i < samples.size(); ++i) {
      INFO(name << ": " << samples[i].name);
      const json alone = module->task().predict(std::span(samples).subspan(i, 1), {}).at(0);
      CHECK(compare_output(alone, together[i], 1e-5) == "");
      if (i < examples.size())
        CHECK(compare_output(examples[i].output, alone, examples[i].tolerance) == "");
    }
  }
}

TEST_CASE("similarities are the packages'") {
  struct Row {
    const char *a, *b;
    double int8, table;
  };
  const Row rows[] = {
      {"A man is playing a guitar", "A person plays an instrument", 0.653713, 0.677661},
      {"A man is playing a guitar", "The stock market fell sharply today", -0.056265, 0.053688},
      {"The cat sits on the mat", "A kitten rests on a rug", 0.644189, 0.387175},
  };
  const auto int8 = default_module("minilm-l6-int8", silent);
  const auto table = default_module("wordllama", silent);
  for (const Row& row : rows) {
    CHECK(similarity(*int8, row.a, row.b) == Approx(row.int8).margin(1e-4));
    CHECK(similarity(*table, row.a, row.b) == Approx(row.table).margin(1e-5));
  }
  CHECK_THROWS_WITH(table->task().predict(std::vector{Sample{"x", "x", {}, "y"}}, {}),
                    Catch::Contains("WordPiece"));
}

TEST_CASE("cutting without tags, and any text whole") {
  const auto seg = default_module("lac-seg", silent), small = default_module("lac-small", silent);
  for (const char* text :
       {"LAC是个优秀的分词工具", " ", "\t", "早上测量血糖10.1mmol/l", "ＬＡＣ，１２３"}) {
    for (Module* module : {seg.get(), small.get()}) {
      INFO(module->manifest().id() << ": " << text);
      std::string joined;
      for (const json& word : words_of(*module, text)) {
        joined += word.at("text").get<std::string>();
        CHECK(word.contains("tag") == (module == small.get()));
      }
      CHECK(joined == text);
    }
  }
  // Marks of full width read as those of half width: the network knows no others.
  CHECK(words_of(*small, "很好，")[1]["tag"] == "w");
}
