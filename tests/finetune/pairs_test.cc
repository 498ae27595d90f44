// Embeddings from pairs of texts.
#include <catch2/catch.hpp>

#include "finetune/objective.h"
#include "tests/error_of.h"
#include "tests/finetune/tiny_base.h"

using namespace hub;

namespace {

Silent silent;

/// "a3 a5 a7" goes with "b3 b5 b7".
Splits pairs() {
  std::vector<Item> items;
  for (int i = 0; i < 1000; ++i) {
    const int digits[] = {i / 100, i / 10 % 10, i % 10};
    if (digits[0] >= digits[1] || digits[1] >= digits[2]) continue;
    Item item;
    item.source = "row " + std::to_string(i);
    for (const int digit : digits) {
      item.text += "a" + std::to_string(digit) + " ";
      item.text_b += "b" + std::to_string(digit) + " ";
    }
    items.push_back(std::move(item));
  }
  for (size_t i = 0; i < items.size(); ++i) std::swap(items[i], items[i * 37 % items.size()]);
  return split_at(std::move(items), 90, {}, task_embedding);
}

Sample text_sample(const std::string& text) {
  Sample sample;
  sample.name = sample.text = text;
  return sample;
}

}  // namespace

TEST_CASE("an embedding learns which texts go together and is saved without its head") {
  const TinyBase base;
  const Splits splits = pairs();
  Losses losses;
  TunerOptions how;
  how.listener = &losses;
  Tuner tuner(base.installed(), how);
  TrainOptions options = tiny_options();
  options.epochs = 10;
  const TrainResult& result = tuner.fit(splits, options);
  REQUIRE(losses.losses.size() == 10);
  CHECK(losses.losses.back() < 0.5 * losses.losses.front());
  CHECK(result.metrics.at("accuracy") > 0.6);

  const Scratch folder;
  const auto saved = base.saved(tuner, folder / "saved", silent);
  CHECK(saved->manifest().task == "sentence-embedding");
  CHECK(saved->manifest().networks.at("main").head.empty());
  const std::vector<Sample> texts = {text_sample("a1 a2"), text_sample("b1 b2"),
                                     text_sample("e1 c5 .")};
  const auto wanted = tuner.module().task().predict(texts, {});
  const auto got = saved->task().predict(texts, {});
  for (size_t i = 0; i < texts.size(); ++i) CHECK(compare_output(wanted[i], got[i], 1e-5).empty());
  CHECK(evaluate_module(*saved, splits.validation, 2).metrics.at("accuracy") ==
        Approx(result.metrics.at("accuracy")));
  for (const Example& example : saved->manifest().examples) {
    CHECK(example.input.size() == 1);
    const Sample sample = example_sample(*saved, example.input);
    CHECK(compare_output(example.output, saved->task().predict({&sample, 1}, {})[0],
                         example.tolerance)
              .empty());
  }
  CHECK(tuner.report(2).worst.size() == 2);
}

TEST_CASE("low-rank pairs are folded into an embedding; a head alone is refused") {
  const TinyBase base;
  Tuner tuner(base.installed());
  TrainOptions o = tiny_options();
  o.strategy = "lora";
  o.lora_rank = 4;
  o.epochs = 2;
  tuner.fit(pairs(), o);
  const Scratch folder;
  const auto saved = base.saved(tuner, folder / "saved", silent);
  const Sample text = text_sample("a1 a2");
  CHECK(compare_output(tuner.module().task().predict({&text, 1}, {})[0],
                       saved->task().predict({&text, 1}, {})[0], 1e-5)
            .empty());
  o.strategy = "head";
  CHECK_THROWS_WITH(tuner.fit(pairs(), o), Catch::Contains("no head of its own"));
}

TEST_CASE("the same text is no wrong partner") {
  const auto objective = pairs_objective();
  Item rows[3];
  rows[0].text = "a0", rows[0].text_b = "b0";
  rows[1].text = "a1", rows[1].text_b = "b0";
  rows[2].text = "a0", rows[2].text_b = "b2";
  const Item* const items[] = {&rows[0], &rows[1], &rows[2]};
  double weight = 0;
  const auto targets = objective->targets(items, {}, weight);
  CHECK(weight == 3);
  const float* mask = targets[1].data<float>();
  const auto seen = [&](int row, int column) { return mask[row * 6 + column] == 0; };
  CHECK((seen(0, 3) && !seen(0, 4) && seen(0, 5)));  // b0 stands in rows 0 and 1
  CHECK((seen(3, 0) && seen(3, 1) && !seen(3, 2)));  // a0 in rows 0 and 2
  for (int i = 0; i < 3; ++i)
    CHECK((!seen(i, i) && targets[0].data<float>()[i * 6 + 3 + i] == 0.5));
}
