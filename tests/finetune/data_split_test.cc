// Splits: F21, groups and duplicates together, the same everywhere.
#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "finetune/data/data.h"
#include "tests/error_of.h"

namespace hub {
namespace {

const std::string cases = std::string(HUB_SOURCE_DIR) + "/tests/data/tables/";

Dataset made(size_t rows, size_t classes) {
  Dataset d;
  for (size_t c = 0; c < classes; ++c) d.classes.push_back("c" + std::to_string(c));
  for (size_t i = 0; i < rows; ++i) {
    Item item;
    item.text = item.source = "row " + std::to_string(i);
    item.labels = {static_cast<int32_t>(i % classes)};
    d.items.push_back(item);
  }
  return d;
}

Splits split_of(Dataset d, double validation, double test, uint64_t seed,
                std::string_view task = "text-classification") {
  Splits s;
  make_splits(std::move(d), validation, test, seed, task, s);
  return s;
}

std::vector<std::string> texts(const Dataset& d) {
  std::vector<std::string> out;
  for (const Item& item : d.items) out.push_back(item.text);
  return out;
}

TEST_CASE("F21: every class keeps a training row, a class of one row is named") {
  DataOptions o;
  o.validation = 0.2;
  o.test = 0;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    o.seed = seed;
    const Splits s = read_data(cases + "rare_class.tsv", o);
    std::map<std::string, int> train, validation;
    for (const Item& i : s.train.items) ++train[s.train.classes[i.labels[0]]];
    for (const Item& i : s.validation.items) ++validation[s.train.classes[i.labels[0]]];
    REQUIRE(validation["A"] == 2);
    REQUIRE((train["A"] == 8 && train["B"] >= 1 && train["C"] == 1));
    REQUIRE(s.train.warnings.size() == 1);
    CHECK_THAT(s.train.warnings[0], Catch::Contains("class 'C' has one row (rare_class.tsv:15)"));
    CHECK(texts(read_data(cases + "rare_class.tsv", o).validation) == texts(s.validation));
  }
  CHECK_THAT(obstacles(read_data(cases + "one_class.tsv", {})).at(0),
             Catch::Contains("every training row has the label 'only'"));
}

TEST_CASE("the rows drawn for a seed are these on every machine") {
  const Splits s = split_of(made(20, 2), 0.2, 0.1, 7);
  CHECK(texts(s.validation) == std::vector<std::string>{"row 2", "row 5", "row 7", "row 16"});
  CHECK(texts(s.test) == std::vector<std::string>{"row 10", "row 17"});
}

TEST_CASE("shares are kept over all rows and classes") {
  for (const auto& [rows, classes] : {std::pair(1000, 2), {1000, 300}, {50, 7}, {9, 3}}) {
    CAPTURE(rows, classes);
    const Splits s = split_of(made(rows, classes), 0.1, 0.2, 1);
    CHECK(s.train.items.size() + s.validation.items.size() + s.test.items.size() == size_t(rows));
    CHECK(std::abs(double(s.validation.items.size()) - rows * 0.1) <= 1);
    CHECK(std::abs(double(s.test.items.size()) - rows * 0.2) <= 1);
    std::set<int32_t> in_train;
    for (const Item& i : s.train.items) in_train.insert(i.labels[0]);
    CHECK(in_train.size() == size_t(classes));
  }
}

TEST_CASE("groups and equal contents stay together") {
  Dataset d = made(300, 3);
  for (size_t i = 0; i < 300; ++i) {
    d.items[i].group = i % 4 == 0 ? "" : "g" + std::to_string(i / 10);
    if (i % 7 == 0) d.items[i].text = "same " + std::to_string(i % 5);
  }
  const Splits s = split_of(d, 0.15, 0.15, 3);
  std::map<std::string, std::set<const Dataset*>> where;
  for (const Dataset* part : {&s.train, &s.validation, &s.test}) {
    for (const Item& i : part->items) {
      if (!i.group.empty()) where[i.group].insert(part);
      where[i.text].insert(part);
    }
  }
  for (const auto& [key, parts] : where) REQUIRE(parts.size() == 1);
  CHECK(s.validation.items.size() > 10);
}

TEST_CASE("many labels a row: combinations of their own are shared out too") {
  Dataset d = made(64, 6);
  for (size_t i = 0; i < 64; ++i) {
    d.items[i].labels.clear();
    for (int b = 0; b < 6; ++b) {
      if (i >> b & 1) d.items[i].labels.push_back(b);
    }
  }
  const Splits s = split_of(d, 0.25, 0, 1, "multi-label-text-classification");
  CHECK(s.validation.items.size() == 16);
  d.classes.push_back("rare");
  for (Item& holder : d.items) {
    holder.labels.push_back(6);
    const Splits r = split_of(d, 0.25, 0, 1, "multi-label-text-classification");
    for (const Item& i : r.validation.items) REQUIRE(i.text != holder.text);
    holder.labels.pop_back();
  }
}

TEST_CASE("a text is cut, not shuffled") {
  const Splits s = split_of(made(10, 1), 0.2, 0.1, 1, task_language);
  CHECK(texts(s.validation) == std::vector<std::string>{"row 7", "row 8"});
  CHECK(texts(s.test) == std::vector<std::string>{"row 9"});
  error_of(Code::usage, [] { split_of(made(10, 2), 0.6, 0.5, 1); });
}

TEST_CASE("the digest is the identity of rows, labels and order") {
  const std::string digest = dataset_digest(made(5, 2));
  Dataset d = made(5, 2);
  CHECK(dataset_digest(d) == digest);
  d.items[0].labels = {1};
  CHECK(dataset_digest(d) != digest);
  d = made(5, 2);
  std::swap(d.items[0], d.items[2]);
  CHECK(dataset_digest(d) != digest);
}

}  // namespace
}  // namespace hub
