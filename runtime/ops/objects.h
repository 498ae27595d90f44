// Strings and lists: what they hold beyond their elements, counted against the budget of a run.
#pragma once

#include <vector>

#include "runtime/tensor.h"

namespace hub {

/// The same tensor, which holds `bytes` more; throws Code::refused when they pass the budget.
Tensor charged(const Tensor& t, size_t bytes);

/// Bytes of the longest of some strings; 0 of none.
size_t longest(const Tensor& strings);

/// A list of tensors, or of lists of tensors. Throws Code::refused when it is too long or too deep.
Tensor list_of(std::vector<Tensor> items);

}  // namespace hub
