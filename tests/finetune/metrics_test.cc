// The meters against scikit-learn, scipy, seqeval and the SQuAD metrics of transformers: the
// goldens hold their answers. Every batch size gives the same result.
#include "finetune/metrics/metrics.h"

#include <catch2/catch.hpp>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "tests/error_of.h"

using namespace hub;
using Catch::Detail::Approx;

namespace {

const json& goldens() {
  static const json all = json::parse(read_file(HUB_SOURCE_DIR "/tests/data/metrics/goldens.json"));
  return all;
}

Approx near(double value) { return Approx(value).epsilon(1e-6).margin(1e-7); }

void check_values(const Metrics& m, const json& values) {
  for (const auto& [name, value] : values.items()) {
    INFO(name);
    CHECK(m.at(name) == near(value));
  }
}

void check_row(const ClassRow& row, const json& wanted) {
  INFO(row.name);
  CHECK(row.precision == near(wanted[0]));
  CHECK(row.recall == near(wanted[1]));
  CHECK(row.f1 == near(wanted[2]));
  CHECK(row.support == wanted[3].get<double>());
}

std::vector<std::string> numbered(size_t n) {
  std::vector<std::string> names;
  for (size_t i = 0; i < n; ++i) names.push_back(std::to_string(i));
  return names;
}

/// Calls f(first, count) for rows in batches of this size.
template <class F>
void in_batches(size_t rows, size_t size, F&& f) {
  for (size_t first = 0; first < rows; first += size) f(first, std::min(size, rows - first));
}

}  // namespace

TEST_CASE("classes: scikit-learn's numbers for every batch size") {
  for (const json& c : goldens()["classes"]) {
    const auto logits = c["logits"].get<std::vector<float>>();
    const auto labels = c["labels"].get<std::vector<int32_t>>();
    const size_t n = c["n"];
    for (size_t size : {1, 4, 7, 64}) {
      INFO(c["name"].get<std::string>() << ", batches of " << size);
      ClassMeter meter(numbered(n), 3);
      in_batches(labels.size(), size, [&](size_t first, size_t count) {
        meter.add(std::span(logits).subspan(first * n, count * n),
                  std::span(labels).subspan(first, count));
      });
      const Metrics m = meter.result();
      check_values(m, c["values"]);
      CHECK((m.find("top3_accuracy") != nullptr) == (n > 3));
      CHECK(json(m.confusion) == c["confusion"]);
      for (size_t k = 0; k < n; ++k) {
        check_row(m.classes[k], c["classes"][k]);
        CHECK(m.classes[k].predicted == c["classes"][k][4]);
      }
    }
  }
}

TEST_CASE("the loss of a data set is its sum over its rows (case F16)") {
  const json& f16 = goldens()["classes"][0];
  CHECK(f16["values"]["loss"].get<double>() == Approx(1.4961396).epsilon(1e-6));
  MeanLoss loss;
  loss.add(6, 4);
  loss.add(10, 1);
  CHECK(loss.value() == Approx(3.2));
  CHECK(loss.perplexity() == Approx(24.5325302));
  CHECK(error_of(Code::numeric, [&] { loss.add(std::numeric_limits<double>::infinity(), 2); }) ==
        "the loss of rows 5 to 6 is not a finite number; lower the learning rate or look at these "
        "rows");
}

TEST_CASE("a useless model is seen through (case F22)") {
  ClassMeter meter({"0", "1"});
  meter.add_decisions(std::vector<int32_t>(10, 0),
                      std::vector<int32_t>{0, 0, 0, 0, 0, 0, 0, 0, 0, 1});
  const Metrics m = meter.result();
  CHECK(m.at("accuracy") == near(0.9));
  CHECK(m.at("macro_f1") == near(0.47368421052631576));
  CHECK(m.at("balanced_accuracy") == near(0.5));
  CHECK(m.at("matthews") == 0);
  CHECK(m.classes[0].f1 == near(0.9473684210526315));
  CHECK(m.classes[1].f1 == 0);
  CHECK(m.warnings == std::vector<std::string>{"class 1 is never predicted"});
  CHECK(to_text(m) ==
        "accuracy              0.9\n"
        "macro_f1           0.4737\n"
        "micro_f1              0.9\n"
        "balanced_accuracy     0.5\n"
        "matthews                0\n"
        "\n"
        "class  precision  recall     f1  rows  predicted\n"
        "0          0.900   1.000  0.947     9         10\n"
        "1          0.000   0.000  0.000     1          0\n"
        "warning: class 1 is never predicted\n");
  const json object = to_json(m);
  CHECK(object["values"]["accuracy"] == 0.9);
  CHECK(object["confusion"] == json::parse("[[9,0],[1,0]]"));
  CHECK(object["classes"][1] == json::parse(R"({"name":"1","precision":0.0,"recall":0.0,"f1":0.0,
                                               "support":1,"predicted":0})"));
  CHECK(object["warnings"][0] == "class 1 is never predicted");
}

TEST_CASE("classes: what cannot be counted") {
  ClassMeter meter({"a", "b"});
  const std::vector<float> nan = {1, std::numeric_limits<float>::quiet_NaN()};
  const std::vector<float> row = {1, 2};
  CHECK(error_of(Code::numeric, [&] { meter.add(nan, std::vector<int32_t>{0}); }) ==
        "row 0: a logit is not a finite number");
  for (int32_t label : {-1, 2})
    CHECK(error_of(Code::refused, [&] { meter.add(row, std::vector{label}); }) ==
          concat("row 0 has class number ", label, ", but there are 2 classes, numbered from 0"));
  error_of(Code::usage, [&] { meter.add(row, std::vector<int32_t>{0, 1}); });
  CHECK(meter.result().at("accuracy") == 0);  // nothing is 0, not NaN

  meter.add(row, std::vector<int32_t>{1});
  const Metrics m = meter.result();
  CHECK(m.find("roc_auc") == nullptr);
  CHECK(m.warnings == std::vector<std::string>{"class a has no rows in this data",
                                               "all rows are of one class: there is no ROC AUC"});
  CHECK(error_of(Code::usage, [&] {
          m.at("f2");
        }).starts_with("there is no metric 'f2' here; there are: accuracy, loss,"));
}

TEST_CASE("ties: equal logits are the lower class, equal scores half a pair") {
  ClassMeter meter(numbered(4), 2);
  meter.add(std::vector<float>(16, 0.5F), std::vector<int32_t>{0, 1, 2, 3});
  const Metrics m = meter.result();
  CHECK(m.at("accuracy") == 0.25);
  CHECK(m.at("top2_accuracy") == 0.5);
  CHECK(m.at("roc_auc") == 0.5);
  CHECK(m.warnings == std::vector<std::string>{"3 of 4 classes are never predicted: 1, 2, 3"});
}

TEST_CASE("large logits do not overflow") {
  ClassMeter meter({"a", "b"});
  meter.add(std::vector<float>{3e38F, -3e38F, 1000, 0}, std::vector<int32_t>{0, 1});
  CHECK(meter.result().at("loss") == Approx(500));
  MultiLabelMeter many({"a", "b"});
  many.add(std::vector<float>{1000, -1000}, std::vector<uint8_t>{1, 1});
  CHECK(many.result().at("loss") == Approx(500));
}

TEST_CASE("multi-label: scikit-learn's numbers for every batch size") {
  for (const json& c : goldens()["multi_label"]) {
    const auto logits = c["logits"].get<std::vector<float>>();
    const auto targets = c["targets"].get<std::vector<uint8_t>>();
    const size_t n = c["n"];
    for (size_t size : {1, 5, 64}) {
      MultiLabelMeter meter(numbered(n));
      in_batches(targets.size() / n, size, [&](size_t first, size_t count) {
        meter.add(std::span(logits).subspan(first * n, count * n),
                  std::span(targets).subspan(first * n, count * n));
      });
      const Metrics m = meter.result();
      check_values(m, c["values"]);
      for (size_t k = 0; k < n; ++k) check_row(m.classes[k], c["classes"][k]);
    }
  }
}

TEST_CASE("regression: scipy's correlations") {
  for (const json& c : goldens()["regression"]) {
    const auto predicted = c["predicted"].get<std::vector<float>>();
    const auto wanted = c["wanted"].get<std::vector<float>>();
    RegressionMeter meter;
    in_batches(wanted.size(), 3, [&](size_t first, size_t count) {
      meter.add(std::span(predicted).subspan(first, count),
                std::span(wanted).subspan(first, count));
    });
    check_values(meter.result(), c["values"]);
  }
  RegressionMeter flat;
  flat.add(std::vector<float>{2, 2, 2}, std::vector<float>{1, 2, 3});
  const Metrics m = flat.result();
  CHECK(m.at("pearson") == 0);
  CHECK(m.at("spearman") == 0);
  CHECK(m.warnings == std::vector<std::string>{"every prediction is the same number"});
  error_of(Code::numeric, [&] {
    flat.add(std::vector<float>{std::numeric_limits<float>::infinity()}, std::vector<float>{1});
  });
}

TEST_CASE("spans: seqeval's numbers") {
  for (const json& c : goldens()["spans"]) {
    SpanMeter meter(c["tags"].get<std::vector<std::string>>());
    for (size_t s = 0; s < c["wanted"].size(); ++s) {
      meter.add(c["predicted"][s].get<std::vector<int32_t>>(),
                c["wanted"][s].get<std::vector<int32_t>>());
    }
    const Metrics m = meter.result();
    check_values(m, c["values"]);
    for (const ClassRow& row : m.classes)
      if (row.support > 0) check_row(row, c["kinds"].at(row.name));
  }
}

TEST_CASE("spans: conlleval's borders") {
  const std::vector<std::string> tags = {"O", "B-X", "I-X", "B-Y", "I-Y"};
  struct Row {
    std::vector<int32_t> predicted, wanted;
    double precision, recall;
  };
  const std::vector<Row> table = {
      {{2, 2, 0}, {1, 2, 0}, 1, 1},      // I- after O begins a chunk
      {{1, 1, 0}, {1, 2, 0}, 0, 0},      // B- always begins one
      {{1, 4, 0}, {1, 3, 0}, 1, 1},      // another kind ends it
      {{1, 2, 2}, {1, 2, 0}, 0, 0},      // longer is wrong
      {{1, 0, 3}, {1, 0, 1}, 0.5, 0.5},  // right borders, wrong kind
      {{0, 0, 0}, {0, 1, 2}, 0, 0},
  };
  for (const Row& row : table) {
    SpanMeter meter(tags);
    meter.add(row.predicted, row.wanted);
    CHECK(meter.result().at("span_precision") == row.precision);
    CHECK(meter.result().at("span_recall") == row.recall);
  }
  SpanMeter words({"NN", "VB"});
  words.add(std::vector<int32_t>{0, 1}, std::vector<int32_t>{0, 0});
  CHECK(words.result().values == std::vector<std::pair<std::string, double>>{{"accuracy", 0.5}});
  CHECK(error_of(Code::refused, [&] {
          words.add(std::vector<int32_t>{2}, std::vector<int32_t>{0});
        }).starts_with("token 0 has tag number 2"));
}

TEST_CASE("answers: SQuAD's exact match and token F1") {
  for (const json& c : goldens()["answers"]) {
    AnswerMeter meter;
    INFO(c.dump());
    meter.add(c["predicted"].get<std::string>(), c["answers"].get<std::vector<std::string>>());
    CHECK(meter.result().at("exact_match") == near(c["exact_match"]));
    CHECK(meter.result().at("token_f1") == near(c["token_f1"]));
  }
  AnswerMeter meter;
  meter.add("北京大学", std::vector<std::string>{"北京，大学。"});
  CHECK(meter.result().at("exact_match") == 1);
  meter.add("北京", std::vector<std::string>{"北京大学"});
  CHECK(meter.result().at("token_f1") == near((1 + 2.0 / 3) / 2));
  meter.add("", {});  // rightly no answer
  CHECK(meter.result().at("exact_match") == near(2.0 / 3));
}
