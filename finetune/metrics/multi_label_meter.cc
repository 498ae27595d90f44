// Any number of classes a row.
#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "finetune/metrics/counts.h"

namespace hub {

MultiLabelMeter::MultiLabelMeter(std::vector<std::string> classes)
    : classes_(std::move(classes)),
      hits_(classes_.size()),
      support_(classes_.size()),
      predicted_(classes_.size()) {}

void MultiLabelMeter::add(std::span<const float> logits, std::span<const uint8_t> targets) {
  const size_t n = classes_.size();
  if (logits.size() != targets.size() || n == 0 || logits.size() % n != 0)
    fail(Code::usage, logits.size(), " logits and ", targets.size(), " targets for rows of ", n,
         " classes");
  for (size_t first = 0; first < logits.size(); first += n) {
    double loss = 0;
    bool exact = true;
    for (size_t c = 0; c < n; ++c) {
      const double x = logits[first + c];
      const bool wanted = targets[first + c] != 0, taken = x > 0;
      if (!std::isfinite(x)) fail(Code::numeric, "row ", rows_, ": a logit is not a finite number");
      // -log sigmoid of the logit, or of its opposite, without overflow.
      loss += std::max(x, 0.0) - (wanted ? x : 0) + std::log1p(std::exp(-std::abs(x)));
      hits_[c] += wanted && taken;
      support_[c] += wanted;
      predicted_[c] += taken;
      exact = exact && wanted == taken;
    }
    loss_.add(loss / static_cast<double>(n), 1);
    exact_ += exact;
    ++rows_;
    if (static_cast<size_t>(rows_) * n > max_scores) continue;
    for (size_t c = 0; c < n; ++c) {
      scores_.push_back(logits[first + c]);
      targets_.push_back(targets[first + c] != 0);
    }
  }
}

Metrics MultiLabelMeter::result() const {
  const size_t n = classes_.size();
  Metrics m;
  m.classes = class_rows(classes_, hits_, support_, predicted_);
  m.values = {{"macro_f1", macro_f1(m.classes)},
              {"loss", loss_.value()},
              {"micro_f1", micro(hits_, support_, predicted_).f1},
              {"subset_accuracy", share(exact_, rows_)}};
  warn_of_classes(m);
  const auto rows = static_cast<size_t>(rows_);
  if (scores_.size() < rows * n) {
    m.warnings.emplace_back("too many rows and classes for the ROC AUC: it is left out");
    return m;
  }
  double sum = 0, counted = 0;
  std::vector<float> scores(rows);
  std::vector<uint8_t> targets(rows);
  for (size_t c = 0; c < n; ++c) {
    for (size_t r = 0; r < rows; ++r) {
      scores[r] = scores_[r * n + c];
      targets[r] = targets_[r * n + c];
    }
    const double auc = roc_auc(scores, targets);
    if (std::isnan(auc)) continue;
    sum += auc;
    counted += 1;
  }
  if (counted > 0) m.values.emplace_back("roc_auc", sum / counted);
  return m;
}

}  // namespace hub
