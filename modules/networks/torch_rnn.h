// Gates of recurrent layers as PyTorch stores them, in the order in which ONNX's operators have
// them.
#pragma once

#include <vector>

#include "runtime/runtime.h"

namespace hub {

/// i, f, g, o one after the other along the first dimension become i, o, f, g. In numbers, not in
/// operators, so that devices see constants.
std::vector<float> lstm_gates(Var torch);
/// r, z, n become z, r, n.
std::vector<float> gru_gates(Var torch);

}  // namespace hub
