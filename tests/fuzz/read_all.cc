#include "tests/fuzz/target.h"

namespace hub {

void exercise(const NamedTensors& tensors) {
  double sum = 0;
  for (const auto& [name, tensor] : tensors) {
    check(tensor.bytes() == bytes_of(tensor.spec()));
    for (float v : tensor.to_floats()) sum += v;
  }
  volatile double keep = sum;
  static_cast<void>(keep);
}

}  // namespace hub
