// Precision, recall and F1 from counts, and what is worth a warning.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "finetune/metrics/metrics.h"

namespace hub {

/// a / b, and 0 where b is 0.
double share(int64_t a, int64_t b);

/// One row a class: `hits` of `predicted` were right, of `support` that there are.
std::vector<ClassRow> class_rows(const std::vector<std::string>& names,
                                 std::span<const int64_t> hits, std::span<const int64_t> support,
                                 std::span<const int64_t> predicted);
/// Mean F1 over the classes that occur in truth or prediction.
double macro_f1(std::span<const ClassRow> rows);
/// Of all classes' counts together: {precision, recall, F1}.
ClassRow micro(std::span<const int64_t> hits, std::span<const int64_t> support,
               std::span<const int64_t> predicted);
/// "class 1 is never predicted", "class 2 has no rows in this data".
void warn_of_classes(Metrics& metrics);
/// "a, b, c and 4 more"
std::string some_of(const std::vector<std::string>& names);

/// Scores kept for the AUC at most; beyond, it is left out with a warning.
constexpr size_t max_scores = size_t{1} << 25;

}  // namespace hub
