// The confusion matrix and the table of classes as HTML.
#pragma once

#include <string>

#include "finetune/metrics/metrics.h"

namespace hub {

/// The matrix, where there are at most 60 classes, and the pairs that are taken for each other
/// most.
std::string confusion_html(const Metrics& metrics);
std::string class_table_html(const Metrics& metrics);

}  // namespace hub
