// Tags of tokens, chosen one by one or as a path.
#include <algorithm>
#include <catch2/catch.hpp>

#include "finetune/plan.h"
#include "tests/finetune/tiny_base.h"
#include "tests/modules/default_module.h"

using namespace hub;

namespace {

Silent silent;

/// Words "a…" begin a chunk that words "b…" go on; "c…" begins one of another kind.
const std::vector<std::string> tags = {"B-X", "I-X", "B-Y", "O"};

Splits tagged() {
  std::vector<Item> items;
  for (int i = 0; i < 120; ++i) {
    Item item;
    item.source = "row " + std::to_string(i);
    for (int k = 0; k < 4 + i % 5; ++k) {
      const int kind = k == 0 ? 0 : (i * 5 + k * k) % 4;
      item.tokens.push_back(std::string(1, "abcd"[kind]) + std::to_string((i + 3 * k) % 10));
      item.labels.push_back(kind == 1 && item.labels.back() > 1 ? 3 : kind);
    }
    items.push_back(std::move(item));
  }
  return split_at(std::move(items), 90, tags, task_tagging);
}

Sample text_sample(const std::string& text) {
  Sample sample;
  sample.name = sample.text = text;
  return sample;
}

}  // namespace

TEST_CASE("a tagger learns, with and without a CRF, and is saved as it is") {
  const bool crf = GENERATE(false, true);
  const TinyBase base(8);  // a long row needs several rows of the network
  const Splits splits = tagged();
  Losses losses;
  TunerOptions how;
  how.crf = crf;
  how.listener = &losses;
  Tuner tuner(base.installed(), how);
  TrainOptions options = tiny_options();
  options.epochs = 8;
  const TrainResult& result = tuner.fit(splits, options);
  INFO("crf " << crf);
  CHECK(losses.losses.back() < 0.5 * losses.losses.front());
  CHECK(result.metrics.at("span_f1") > 0.7);

  const Scratch folder;
  const auto saved = base.saved(tuner, folder / "saved", silent);
  CHECK(saved->manifest().task == "sequence-labelling");
  std::vector<Sample> samples = {text_sample(""),
                                 text_sample("a1 b2 b3 c4 d5 a6 b1 a2 b2 b3 c1 c2.")};
  const auto wanted = tuner.module().task().predict(samples, {});
  const auto got = saved->task().predict(samples, {});
  CHECK(wanted == got);
  CHECK(got[0] == json{{"words", json::array()}});
  size_t at = 0;
  for (const json& word : got[1]["words"]) {  // blanks aside, every part of the text in order
    CHECK(word["start"].get<size_t>() >= at);
    at = word["end"].get<size_t>();
    CHECK(samples[1].text.substr(word["start"], at - word["start"].get<size_t>()) == word["text"]);
  }
  CHECK(at == samples[1].text.size());
  CHECK(evaluate_module(*saved, splits.validation, 2).metrics.at("span_f1") ==
        Approx(result.metrics.at("span_f1")));
  for (const Example& example : saved->manifest().examples) {
    const Sample sample = example_sample(*saved, example.input);
    CHECK(compare_output(example.output, saved->task().predict({&sample, 1}, {})[0], 0).empty());
  }
}

TEST_CASE("tags of both writings are joined to words") {
  const std::string kind = GENERATE("prefix", "suffix");
  const TinyBase base;
  Tuner tuner(base.installed());
  Splits splits = tagged();
  if (kind == "suffix") {
    for (Dataset* part : {&splits.train, &splits.validation, &splits.test})
      part->classes = {"X-B", "X-I", "Y-B", "O"};
  }
  TrainOptions options = tiny_options();
  options.epochs = 1;
  tuner.fit(splits, options);
  // Logits by hand: one row a token of "a1 b2 c3 d4 b5".
  const int path[] = {0, 1, 2, 3, 1};
  Tensor logits(DType::f32, {5, 4});
  for (int i = 0; i < 20; ++i) logits.data<float>()[i] = path[i / 4] == i % 4 ? 1 : 0;
  const Sample sample = text_sample("a1 b2 c3 d4 b5");
  const json words = tuner.module().task().decode({&sample, 1}, {&logits, 1}, {})[0]["words"];
  REQUIRE(words.size() == 4);
  const std::tuple<const char*, const char*, int, int> wanted[] = {
      {"a1 b2", "X", 0, 5}, {"c3", "Y", 6, 8}, {"d4", "O", 9, 11}, {"b5", "X", 12, 14}};
  for (size_t i = 0; i < 4; ++i) {
    CHECK(words[i]["text"] == std::get<0>(wanted[i]));
    CHECK(words[i]["tag"] == std::get<1>(wanted[i]));
    CHECK(words[i]["start"] == std::get<2>(wanted[i]));
    CHECK(words[i]["end"] == std::get<3>(wanted[i]));
  }
}

TEST_CASE("lac learns other tags than its own") {
  const Installed base = installed("lac");
  std::vector<Item> items;
  const std::string texts[] = {"我在北京工作", "他去上海", "北京很大", "上海的天气"};
  const std::vector<std::string> places = {"北", "京", "上", "海"};
  for (int i = 0; i < 24; ++i) {
    Item item;
    item.source = "row " + std::to_string(i);
    const std::string& text = texts[i % 4];
    for (size_t k = 0; k < text.size(); k += 3) {
      item.tokens.push_back(text.substr(k, 3));
      const auto place = std::find(places.begin(), places.end(), item.tokens.back());
      item.labels.push_back(place == places.end() ? 0 : (place - places.begin()) % 2 + 1);
    }
    items.push_back(std::move(item));
  }
  const Splits splits = split_at(std::move(items), 20, {"O", "LOC-B", "LOC-I"}, task_tagging);
  Tuner tuner(base);
  TrainOptions options;
  options.epochs = 6;
  options.batch = 4;
  const TrainResult& result = tuner.fit(splits, options);
  CHECK(result.metrics.at("span_f1") == 1);
  CHECK(result.tuned.contains("head.transitions"));
  const Sample sample = text_sample("他在上海工作");
  const json words = tuner.module().task().predict({&sample, 1}, {})[0]["words"];
  REQUIRE(words.size() == 5);
  CHECK(words[2] == json{{"text", "上海"}, {"tag", "LOC"}, {"start", 2}, {"end", 4}});
  CHECK_THROWS_WITH(plan_tuning(base.manifest, "classification", {"a", "b"}),
                    Catch::Contains("sequence-labelling"));
}
