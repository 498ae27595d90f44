// Small networks of many kinds, for tests of whole sessions. Their sizes are those for which the
// device takes its own kernels and splits them over its team.
#pragma once

#include <string>
#include <vector>

#include "runtime/program.h"

namespace hub {

struct SmallNetwork {
  std::string name;
  Program program;  ///< one input and one output, both with the batch first
  Shape sample;     ///< of the input, without the batch

  /// An input of `batch` samples.
  Tensor input(int64_t batch, uint32_t seed = 7) const;
};

std::vector<SmallNetwork> small_networks();

}  // namespace hub
