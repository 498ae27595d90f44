#include "modules/labels.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/error.h"
#include "base/text.h"

namespace hub {
namespace {

std::vector<double> checked(std::span<const float> scores, const std::string& name) {
  std::vector<double> values(scores.begin(), scores.end());
  for (double value : values) {
    if (!std::isfinite(value))
      fail(Code::numeric, name, ": the network gave a score that is not a number");
  }
  return values;
}

}  // namespace

std::vector<std::string> read_labels(const Module& module, const RelPath& path) {
  const MappedFile file = module.files().open(path);
  const std::string id = module.manifest().id();
  if (!valid_utf8(file.text())) fail(Code::refused, id, ": ", path.str(), " is not UTF-8");
  std::vector<std::string> labels;
  for (std::string_view line : lines(file.text())) labels.emplace_back(line);
  if (labels.empty()) fail(Code::refused, id, ": ", path.str(), " holds no label");
  return labels;
}

json best_labels(const std::vector<std::string>& labels, std::span<const float> scores,
                 bool softmax, int top, const std::string& name) {
  std::vector<double> values = checked(scores, name);
  if (softmax) {
    const double most = *std::max_element(values.begin(), values.end());
    double sum = 0;
    for (double& value : values) sum += value = std::exp(value - most);
    for (double& value : values) value /= sum;
  }
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const size_t count = std::min(order.size(), static_cast<size_t>(top));
  std::partial_sort(
      order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), order.end(),
      [&](size_t a, size_t b) { return values[a] != values[b] ? values[a] > values[b] : a < b; });
  json rows = json::array();
  for (size_t i : std::span(order).first(count)) {
    rows.push_back({{"label", labels[i]}, {"index", i}, {"score", static_cast<float>(values[i])}});
  }
  return rows;
}

json all_labels(const std::vector<std::string>& labels, std::span<const float> logits,
                const std::string& name) {
  const std::vector<double> values = checked(logits, name);
  json rows = json::array();
  for (size_t i = 0; i < labels.size(); ++i) {
    rows.push_back({{"label", labels[i]},
                    {"index", i},
                    {"score", static_cast<float>(1 / (1 + std::exp(-values[i])))}});
  }
  return rows;
}

}  // namespace hub
