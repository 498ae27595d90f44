// Tensors without elements: what makes nothing else has nothing to do, whatever its numbers are.
#pragma once

#include <algorithm>
#include <span>

#include "runtime/tensor.h"

namespace hub {

inline bool is_empty(const Spec& spec) { return spec.shape.numel() == 0; }

/// Whether the results of a call have no elements; it is not run then.
inline bool nothing_to_write(std::span<const Spec> out) {
  return !out.empty() && std::all_of(out.begin(), out.end(), is_empty);
}

}  // namespace hub
