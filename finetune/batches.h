// A batch for training.
#pragma once

#include <vector>

#include "runtime/runtime.h"

namespace hub {

struct Batch {
  std::vector<Tensor> inputs;  ///< of the training program: the network's, then the targets
  double weight = 0;
  size_t rows = 0;
};

}  // namespace hub
