// Errors and correlations of numbers.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "finetune/metrics/counts.h"

namespace hub {
namespace {

double pearson(std::span<const double> a, std::span<const double> b) {
  const auto n = static_cast<double>(a.size());
  const double mean_a = std::accumulate(a.begin(), a.end(), 0.0) / n;
  const double mean_b = std::accumulate(b.begin(), b.end(), 0.0) / n;
  double ab = 0, aa = 0, bb = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double x = a[i] - mean_a, y = b[i] - mean_b;
    ab += x * y;
    aa += x * x;
    bb += y * y;
  }
  return aa == 0 || bb == 0 ? 0 : std::clamp(ab / std::sqrt(aa) / std::sqrt(bb), -1.0, 1.0);
}

/// From 1; equal values share the mean of their ranks.
std::vector<double> ranks(std::span<const double> values) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (size_t i = 0; i < order.size();) {
    size_t end = i;
    while (end < order.size() && values[order[end]] == values[order[i]]) ++end;
    const double rank = static_cast<double>(i + 1 + end) / 2;
    for (; i < end; ++i) ranks[order[i]] = rank;
  }
  return ranks;
}

bool constant(std::span<const double> v) {
  return std::adjacent_find(v.begin(), v.end(), std::not_equal_to<>()) == v.end();
}

}  // namespace

void RegressionMeter::add(std::span<const float> predicted, std::span<const float> wanted) {
  if (predicted.size() != wanted.size())
    fail(Code::usage, predicted.size(), " predictions for ", wanted.size(), " rows");
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (!std::isfinite(predicted[i]) || !std::isfinite(wanted[i]))
      fail(Code::numeric, "row ", wanted_.size(), ": ",
           std::isfinite(wanted[i]) ? "the prediction" : "the value", " is not a finite number");
    predicted_.push_back(predicted[i]);
    wanted_.push_back(wanted[i]);
  }
}

Metrics RegressionMeter::result() const {
  double squares = 0, distances = 0;
  for (size_t i = 0; i < wanted_.size(); ++i) {
    const double error = predicted_[i] - wanted_[i];
    squares += error * error;
    distances += std::abs(error);
  }
  const double n = std::max<double>(1, static_cast<double>(wanted_.size()));
  Metrics m;
  m.values = {{"loss", squares / n}, {"rmse", std::sqrt(squares / n)}, {"mae", distances / n}};
  const bool same = constant(predicted_), flat = constant(wanted_);
  m.values.emplace_back("pearson", same || flat ? 0 : pearson(predicted_, wanted_));
  m.values.emplace_back("spearman", same || flat ? 0 : pearson(ranks(predicted_), ranks(wanted_)));
  if (same) m.warnings.emplace_back("every prediction is the same number");
  if (flat) m.warnings.emplace_back("every row has the same value");
  return m;
}

}  // namespace hub
