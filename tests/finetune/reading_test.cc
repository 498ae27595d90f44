// Answers as parts of texts.
#include <catch2/catch.hpp>

#include "finetune/objective.h"
#include "tests/finetune/tiny_base.h"

using namespace hub;

namespace {

Silent silent;

Item item_of(const std::string& text, int64_t start, int64_t end) {
  Item item;
  item.source = text;
  item.text = text;
  item.text_b = "a0?";
  item.start = start;
  item.end = end;
  return item;
}

/// The answer is the word "d…" and the "e…" that may follow it; some texts have none.
Splits questions() {
  std::vector<Item> items;
  for (int i = 0; i < 120; ++i) {
    std::string text;
    int64_t start = -1, end = -1;
    for (int k = 0; k < 6; ++k) {
      if (k > 0) text += " ";
      if (k == i % 7) start = static_cast<int64_t>(text.size());
      text += (k == i % 7 ? "d" : k % 2 == 0 ? "b" : "c") + std::to_string((i * 7 + k * 3) % 10);
      if (k == i % 7 && i % 2 == 0) text += " e" + std::to_string(i % 10);
      if (k == i % 7) end = static_cast<int64_t>(text.size());
    }
    items.push_back(item_of(text + ".", start, end));
  }
  return split_at(std::move(items), 90, {}, task_reading);
}

Sample sample_for(const std::string& text, const std::string& question) {
  Sample sample;
  sample.name = sample.text = text;
  sample.text_b = question;
  return sample;
}

}  // namespace

TEST_CASE("reading comprehension learns where answers stand") {
  const TinyBase base;
  const Splits splits = questions();
  Losses losses;
  TunerOptions how;
  how.listener = &losses;
  Tuner tuner(base.installed(), how);
  TrainOptions options = tiny_options();
  options.epochs = 8;
  const TrainResult& result = tuner.fit(splits, options);
  CHECK(losses.losses.back() < 0.5 * losses.losses.front());
  CHECK(result.metrics.at("token_f1") > 0.7);

  const Scratch folder;
  const auto saved = base.saved(tuner, folder / "saved", silent);
  CHECK(saved->manifest().task == "reading-comprehension");
  std::vector<Sample> samples;
  for (const Item& item : splits.validation.items)
    samples.push_back(sample_for(item.text, item.text_b));
  const auto wanted = tuner.module().task().predict(samples, {});
  const auto got = saved->task().predict(samples, {});
  for (size_t i = 0; i < got.size(); ++i) {
    CHECK(compare_output(wanted[i], got[i], 1e-5).empty());
    const std::string text = samples[i].text;  // of ASCII: places are bytes
    const auto start = got[i]["start"].get<size_t>(), end = got[i]["end"].get<size_t>();
    CHECK(got[i]["answer"] == text.substr(start, end - start));
  }
  CHECK(evaluate_module(*saved, splits.validation, 3).metrics.at("token_f1") ==
        Approx(result.metrics.at("token_f1")));
  CHECK_THROWS_WITH(saved->task().predict(std::vector{sample_for("b1 d2", "")}, {}),
                    Catch::Contains("a text and a question"));
}

TEST_CASE("places of an answer as tokens, also where the text was cut") {
  const TinyBase base(12);
  Tuner tuner(base.installed());
  TrainOptions options = tiny_options();
  options.epochs = 1;
  tuner.fit(questions(), options);
  Task& task = tuner.module().task();
  const auto at = [&](const std::string& text, int64_t start, int64_t end) {
    return task.locate(sample_for(text, "a0?"), start, end);
  };
  using Pair = std::pair<int64_t, int64_t>;
  // [CLS] a0 ? [SEP] and then the text
  CHECK(at("b1 c2 d3.", 3, 5) == Pair{5, 5});
  CHECK(at("b1 c2 d3.", 3, 9) == Pair{5, 7});
  CHECK(at("b1 c2 d3.", 1, 4) == Pair{4, 5});  // parts of words stand for the words
  CHECK(at("b1 c2 d3.", -1, -1) == Pair{0, 0});
  CHECK(at("\u3000b1\u00a0c2 d3", 4, 6) == Pair{5, 5});  // code points, not bytes
  const std::string longer = "b1 b2 b3 b4 b5 b6 b7 b8 b9";
  CHECK(at(longer, 18, 20) == Pair{10, 10});
  CHECK(at(longer, 21, 23) == Pair{-1, -1});
  CHECK(at(longer, 18, 23) == Pair{-1, -1});

  const auto objective = span_objective(&task);
  const Item seen = item_of("b1 d2", 3, 5), cut = item_of(longer, 21, 23);
  const Item* const items[] = {&seen, &cut};
  const std::vector<Sample> samples = {sample_for(seen.text, "a0?"), sample_for(longer, "a0?")};
  const auto encoded = task.encode(samples);
  double weight = 0;
  const Tensor target = objective->targets(items, encoded, weight)[0];
  CHECK(weight == 1);
  CHECK(target.shape()[2] == encoded[0].shape()[1]);
  CHECK(target.data<float>()[5] == 0.5);
}
