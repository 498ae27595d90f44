// One class a row. Matthews for many classes after Gorodkin (2004).
#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "finetune/metrics/counts.h"

namespace hub {
namespace {

double matthews(double rows, double right, std::span<const int64_t> support,
                std::span<const int64_t> predicted) {
  double both = 0, wanted = 0, taken = 0;
  for (size_t c = 0; c < support.size(); ++c) {
    const auto t = static_cast<double>(support[c]), p = static_cast<double>(predicted[c]);
    both += t * p;
    wanted += t * t;
    taken += p * p;
  }
  const double below = std::sqrt((rows * rows - taken) * (rows * rows - wanted));
  return below == 0 ? 0 : (right * rows - both) / below;
}

/// Mean over the classes that have rows of their own and rows of others.
double mean_auc(std::span<const float> scores, std::span<const int32_t> labels, size_t classes) {
  double sum = 0, counted = 0;
  std::vector<float> column(labels.size());
  std::vector<uint8_t> positive(labels.size());
  for (size_t c = classes == 2 ? 1 : 0; c < classes; ++c) {
    for (size_t r = 0; r < labels.size(); ++r) {
      column[r] = scores[r * classes + c];
      positive[r] = labels[r] == static_cast<int32_t>(c);
    }
    const double auc = roc_auc(column, positive);
    if (std::isnan(auc)) continue;
    sum += auc;
    counted += 1;
  }
  return sum / counted;
}

}  // namespace

ClassMeter::ClassMeter(std::vector<std::string> classes, int top_k)
    : classes_(std::move(classes)),
      top_k_(top_k),
      confusion_(classes_.size(), std::vector<int64_t>(classes_.size())) {}

void ClassMeter::check(int32_t label) const {
  if (label < 0 || static_cast<size_t>(label) >= classes_.size())
    fail(Code::refused, "row ", rows_, " has class number ", label, ", but there are ",
         classes_.size(), " classes, numbered from 0");
}

void ClassMeter::add(std::span<const float> logits, std::span<const int32_t> labels) {
  const size_t n = classes_.size();
  if (logits.size() != labels.size() * n)
    fail(Code::usage, logits.size(), " logits for ", labels.size(), " rows of ", n, " classes");
  std::vector<double> powers(n);
  for (size_t r = 0; r < labels.size(); ++r) {
    check(labels[r]);
    const auto row = logits.subspan(r * n, n);
    if (!std::all_of(row.begin(), row.end(), [](float x) { return std::isfinite(x); }))
      fail(Code::numeric, "row ", rows_, ": a logit is not a finite number");
    const auto label = static_cast<size_t>(labels[r]);
    const auto best = std::max_element(row.begin(), row.end());
    double sum = 0;
    for (size_t c = 0; c < n; ++c) sum += powers[c] = std::exp(double{row[c]} - *best);
    loss_.add(std::log(sum) + *best - row[label], 1);
    ptrdiff_t before = 0;  // classes that rank above the right one
    for (size_t c = 0; c < n; ++c)
      before += row[c] > row[label] || (row[c] == row[label] && c < label);
    top_hits_ += before < top_k_;
    ++confusion_[label][static_cast<size_t>(best - row.begin())];
    ++rows_;
    if (static_cast<size_t>(rows_) * n > max_scores) continue;
    for (double power : powers) scores_.push_back(static_cast<float>(power / sum));
    labels_.push_back(labels[r]);
  }
}

void ClassMeter::add_decisions(std::span<const int32_t> predicted,
                               std::span<const int32_t> labels) {
  if (predicted.size() != labels.size())
    fail(Code::usage, predicted.size(), " predictions for ", labels.size(), " rows");
  for (size_t r = 0; r < labels.size(); ++r) {
    check(labels[r]);
    check(predicted[r]);
    ++confusion_[static_cast<size_t>(labels[r])][static_cast<size_t>(predicted[r])];
    ++rows_;
  }
}

Metrics ClassMeter::result() const {
  const size_t n = classes_.size();
  std::vector<int64_t> hits(n), support(n), predicted(n);
  for (size_t t = 0; t < n; ++t) {
    hits[t] = confusion_[t][t];
    for (size_t p = 0; p < n; ++p) {
      support[t] += confusion_[t][p];
      predicted[p] += confusion_[t][p];
    }
  }
  Metrics m;
  m.classes = class_rows(classes_, hits, support, predicted);
  m.confusion = confusion_;
  const ClassRow all = micro(hits, support, predicted);
  double recalls = 0, present = 0;
  for (const ClassRow& row : m.classes) {
    recalls += row.recall;
    present += row.support > 0;
  }
  m.values = {{"accuracy", all.recall}};
  if (loss_.rows() > 0) {
    m.values.emplace_back("loss", loss_.value());
    if (n > static_cast<size_t>(top_k_))
      m.values.emplace_back(concat("top", top_k_, "_accuracy"), share(top_hits_, rows_));
  }
  m.values.emplace_back("macro_f1", macro_f1(m.classes));
  m.values.emplace_back("micro_f1", all.f1);
  m.values.emplace_back("balanced_accuracy", present == 0 ? 0 : recalls / present);
  const double right = all.recall * static_cast<double>(rows_);
  m.values.emplace_back("matthews",
                        matthews(static_cast<double>(rows_), right, support, predicted));
  warn_of_classes(m);
  if (loss_.rows() == 0) return m;
  if (labels_.size() < static_cast<size_t>(rows_)) {
    m.warnings.emplace_back("too many rows and classes for the ROC AUC: it is left out");
  } else if (const double auc = mean_auc(scores_, labels_, n); std::isnan(auc)) {
    m.warnings.emplace_back("all rows are of one class: there is no ROC AUC");
  } else {
    m.values.emplace_back("roc_auc", auc);
  }
  return m;
}

}  // namespace hub
