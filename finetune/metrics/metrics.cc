#include "finetune/metrics/metrics.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace hub {

const double* Metrics::find(std::string_view name) const {
  for (const auto& [known, value] : values)
    if (known == name) return &value;
  return nullptr;
}

double Metrics::at(std::string_view name) const {
  if (const double* value = find(name)) return *value;
  std::string names;
  for (const auto& [known, value] : values) names += concat(names.empty() ? "" : ", ", known);
  fail(Code::usage, "there is no metric '", name, "' here; there are: ", names);
}

void MeanLoss::add(double sum, int64_t rows) {
  if (!std::isfinite(sum))
    fail(Code::numeric, "the loss of rows ", rows_, " to ", rows_ + rows - 1,
         " is not a finite number; lower the learning rate or look at these rows");
  sum_ += sum;
  rows_ += rows;
}

double MeanLoss::perplexity() const { return std::exp(value()); }

}  // namespace hub
