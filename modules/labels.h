// The names of classes, kept in a file of the module, one a line.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "modules/module.h"

namespace hub {

/// Throws Code::refused when the file is not UTF-8 or holds no label.
std::vector<std::string> read_labels(const Module& module, const RelPath& path);

/// The classification output of one input: the best `top` as {"label", "index", "score"}, best
/// first, of equal ones the first; scores are `scores` as they are, or their softmax. Throws
/// Code::numeric naming the input when one is not a number.
json best_labels(const std::vector<std::string>& labels, std::span<const float> scores,
                 bool softmax, int top, const std::string& name);
/// Independent labels: the sigmoid of each, in the order of the labels.
json all_labels(const std::vector<std::string>& labels, std::span<const float> logits,
                const std::string& name);

}  // namespace hub
