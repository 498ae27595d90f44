#include "finetune/metrics/counts.h"

#include <numeric>

#include "base/error.h"

namespace hub {
namespace {

ClassRow row_of(std::string name, int64_t hits, int64_t support, int64_t predicted) {
  return {std::move(name),
          share(hits, predicted),
          share(hits, support),
          share(2 * hits, support + predicted),
          support,
          predicted};
}

void warn(Metrics& metrics, const std::vector<std::string>& names, const char* one,
          const char* many) {
  if (names.empty()) return;
  if (names.size() == 1) {
    metrics.warnings.push_back(concat("class ", names[0], one));
  } else {
    metrics.warnings.push_back(concat(names.size(), " of ", metrics.classes.size(), " classes",
                                      many, ": ", some_of(names)));
  }
}

}  // namespace

double share(int64_t a, int64_t b) {
  return b == 0 ? 0 : static_cast<double>(a) / static_cast<double>(b);
}

std::vector<ClassRow> class_rows(const std::vector<std::string>& names,
                                 std::span<const int64_t> hits, std::span<const int64_t> support,
                                 std::span<const int64_t> predicted) {
  std::vector<ClassRow> rows;
  for (size_t c = 0; c < names.size(); ++c)
    rows.push_back(row_of(names[c], hits[c], support[c], predicted[c]));
  return rows;
}

double macro_f1(std::span<const ClassRow> rows) {
  double sum = 0;
  int64_t present = 0;
  for (const ClassRow& row : rows) {
    sum += row.f1;
    present += row.support + row.predicted > 0;
  }
  return present == 0 ? 0 : sum / static_cast<double>(present);
}

ClassRow micro(std::span<const int64_t> hits, std::span<const int64_t> support,
               std::span<const int64_t> predicted) {
  auto sum = [](std::span<const int64_t> v) {
    return std::accumulate(v.begin(), v.end(), int64_t{0});
  };
  return row_of("", sum(hits), sum(support), sum(predicted));
}

std::string some_of(const std::vector<std::string>& names) {
  constexpr size_t most = 5;
  std::string text;
  for (size_t i = 0; i < names.size() && i < most; ++i)
    text += concat(i == 0 ? "" : ", ", names[i]);
  if (names.size() > most) text += concat(" and ", names.size() - most, " more");
  return text;
}

void warn_of_classes(Metrics& metrics) {
  std::vector<std::string> unseen, unpredicted;
  for (const ClassRow& row : metrics.classes) {
    if (row.support == 0) {
      unseen.push_back(row.name);
    } else if (row.predicted == 0) {
      unpredicted.push_back(row.name);
    }
  }
  warn(metrics, unpredicted, " is never predicted", " are never predicted");
  warn(metrics, unseen, " has no rows in this data", " have no rows in this data");
}

}  // namespace hub
