// Training, validation and test rows drawn from one set: stratified, grouped, the same everywhere.
#include <algorithm>
#include <map>
#include <numeric>
#include <unordered_map>

#include "base/error.h"
#include "base/random.h"
#include "base/text.h"
#include "finetune/data/rows.h"

namespace hub {
namespace {

enum Part : uint8_t { train, validation, test };

/// Rows that stay together.
struct Unit {
  std::vector<size_t> rows;
  Part part = train;
};

/// Rows of one group or with one content, transitively; in the order of their first rows.
std::vector<Unit> units_of(const std::vector<Item>& items) {
  std::vector<size_t> parent(items.size());
  std::iota(parent.begin(), parent.end(), size_t{0});
  const auto root = [&](size_t i) {
    while (parent[i] != i) i = parent[i] = parent[parent[i]];
    return i;
  };
  std::unordered_map<std::string, size_t> first;
  const auto join = [&](std::string key, size_t i) {
    const auto [it, is_new] = first.emplace(std::move(key), i);
    if (is_new) return;
    const size_t a = root(it->second), b = root(i);
    parent[std::max(a, b)] = std::min(a, b);
  };
  for (size_t i = 0; i < items.size(); ++i) {
    join(concat("c", content_key(items[i])), i);
    if (!items[i].group.empty()) join(concat("g", items[i].group), i);
  }
  std::vector<Unit> units;
  std::vector<size_t> unit_of(items.size());
  for (size_t i = 0; i < items.size(); ++i) {
    const size_t r = root(i);
    if (r == i) {
      unit_of[i] = units.size();
      units.emplace_back();
    }
    units[unit_of[r]].rows.push_back(i);
  }
  return units;
}

/// Units with the same labels.
struct Stratum {
  std::vector<Unit*> units;
  size_t rows = 0;
  bool one_class = false;  ///< its last unit in training stays there
};

/// Gives `part` its share of the rows still in training, stratum by stratum. What rounding leaves
/// over in one is carried into the next, so that small strata give their share together.
void draw(std::vector<Stratum>& strata, double share, Part part) {
  double carry = 0.5;
  for (Stratum& stratum : strata) {
    const double wanted = static_cast<double>(stratum.rows) * share + carry + 1e-9;
    size_t taken = 0;
    auto left = std::count_if(stratum.units.begin(), stratum.units.end(),
                              [](const Unit* u) { return u->part == train; });
    for (Unit* unit : stratum.units) {
      if (unit->part != train || (stratum.one_class && left == 1)) continue;
      if (static_cast<double>(taken + unit->rows.size()) > wanted) continue;
      unit->part = part;
      taken += unit->rows.size();
      --left;
    }
    carry = std::min(wanted - static_cast<double>(taken), 1.0);
  }
}

/// Every class with rows gets one in training; a class that cannot be shared out is named.
void keep_classes(const Dataset& all, std::vector<Unit>& units,
                  std::vector<std::string>& warnings) {
  std::vector<int> in_train(all.classes.size()), in_all(all.classes.size());
  std::vector<Unit*> holder(all.classes.size());
  for (Unit& unit : units) {
    std::vector<int32_t> labels;
    for (size_t row : unit.rows) {
      const auto& l = all.items[row].labels;
      labels.insert(labels.end(), l.begin(), l.end());
    }
    std::sort(labels.begin(), labels.end());
    labels.erase(std::unique(labels.begin(), labels.end()), labels.end());
    for (int32_t label : labels) {
      ++in_all[label];
      in_train[label] += unit.part == train;
      if (holder[label] == nullptr) holder[label] = &unit;
    }
  }
  constexpr size_t shown = 20;
  size_t alone = 0;
  for (size_t c = 0; c < all.classes.size(); ++c) {
    if (in_all[c] > 0 && in_train[c] == 0) holder[c]->part = train;
    if (in_all[c] != 1 || ++alone > shown) continue;
    const auto& rows = holder[c]->rows;
    warnings.push_back(concat("class '", printable(all.classes[c]), "' has ",
                              rows.size() == 1 ? "one row" : "rows of one group or content only",
                              " (", printable(all.items[rows[0]].source),
                              "): it is in training and nowhere else"));
  }
  if (alone > shown) warnings.push_back(concat(alone - shown, " more classes stand so alone"));
}

/// By the labels of the first row, in random order; one stratum for what has no classes.
std::vector<Stratum> strata_of(const Dataset& all, std::vector<Unit>& units, uint64_t seed) {
  std::map<std::vector<int32_t>, Stratum> by_labels;
  for (Unit& unit : units) {
    const Item& item = all.items[unit.rows[0]];
    Stratum& s = by_labels[item.tokens.empty() ? item.labels : std::vector<int32_t>()];
    s.units.push_back(&unit);
    s.rows += unit.rows.size();
  }
  SplitMix64 generator(seed);
  std::vector<Stratum> strata;
  for (auto& [labels, stratum] : by_labels) {
    stratum.one_class = labels.size() == 1;
    generator.shuffle(stratum.units);
    strata.push_back(std::move(stratum));
  }
  return strata;
}

/// A text is cut in three: its end is for the test, what stands before it for validation.
void cut(std::vector<Unit>& units, double validation_share, double test_share) {
  const auto n = static_cast<double>(units.size());
  for (size_t i = 0; i < units.size(); ++i) {
    const double from_end = static_cast<double>(units.size() - i) - 0.5;
    units[i].part = from_end < n * test_share                        ? test
                    : from_end < n * (test_share + validation_share) ? validation
                                                                     : train;
  }
}

}  // namespace

void make_splits(Dataset all, double validation_share, double test_share, uint64_t seed,
                 std::string_view task, Splits& out) {
  const auto bad = [](double share) { return !(share >= 0 && share < 1); };
  if (bad(validation_share) || bad(test_share) || validation_share + test_share >= 1) {
    fail(Code::usage, "shares of ", validation_share, " and ", test_share,
         " for validation and test; together less than 1 is wanted");
  }
  std::vector<Unit> units;
  if (task == task_language) {
    for (size_t i = 0; i < all.items.size(); ++i) units.push_back({{i}});
    cut(units, validation_share, test_share);
  } else {
    units = units_of(all.items);
    std::vector<Stratum> strata = strata_of(all, units, seed);
    if (validation_share > 0) draw(strata, validation_share, validation);
    if (test_share > 0) draw(strata, test_share, test);
    const bool drawn = validation_share + test_share > 0;
    if (drawn && task != task_tagging) keep_classes(all, units, all.warnings);
  }
  std::vector<Part> part_of(all.items.size());
  for (const Unit& unit : units) {
    for (size_t row : unit.rows) part_of[row] = unit.part;
  }
  out.train = {all.classes, {}, "", std::move(all.warnings)};
  out.validation = {all.classes, {}, "", {}};
  if (test_share > 0) out.test = {all.classes, {}, "", {}};
  for (size_t i = 0; i < all.items.size(); ++i) {
    Dataset& to = part_of[i] == train ? out.train : part_of[i] == test ? out.test : out.validation;
    to.items.push_back(std::move(all.items[i]));
  }
  for (Dataset* part : {&out.train, &out.validation, &out.test}) {
    if (part != &out.test || test_share > 0) part->digest = dataset_digest(*part);
  }
}

}  // namespace hub
