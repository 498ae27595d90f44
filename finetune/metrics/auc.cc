// ROC AUC by ranks (Mann-Whitney).
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "finetune/metrics/metrics.h"

namespace hub {

double roc_auc(std::span<const float> scores, std::span<const uint8_t> positive) {
  std::vector<size_t> order(scores.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return scores[a] < scores[b]; });
  // Pairs of a positive above a negative, a tie being half.
  double pairs = 0, below = 0, positives = 0;
  for (size_t i = 0; i < order.size();) {
    double tied_positive = 0, tied_negative = 0;
    const float score = scores[order[i]];
    for (; i < order.size() && scores[order[i]] == score; ++i)
      (positive[order[i]] != 0 ? tied_positive : tied_negative) += 1;
    pairs += tied_positive * (below + tied_negative / 2);
    below += tied_negative;
    positives += tied_positive;
  }
  if (positives == 0 || below == 0) return std::numeric_limits<double>::quiet_NaN();
  return pairs / (positives * below);
}

}  // namespace hub
