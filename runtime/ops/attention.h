// What the reference and the devices share of attention.
#pragma once

#include "runtime/tensor.h"

namespace hub {

/// From one sample, head or query of a bias [B, heads, S, S_k] to the next: 0 where the dimension
/// is 1.
struct BiasSteps {
  int64_t sample = 0, head = 0, row = 0;

  BiasSteps() = default;
  explicit BiasSteps(const Shape& bias) {
    row = bias[2] == 1 ? 0 : bias[3];
    head = bias[1] == 1 ? 0 : bias[2] * bias[3];
    sample = bias[0] == 1 ? 0 : bias[1] * bias[2] * bias[3];
  }
};

}  // namespace hub
