// The training operators of ONNX (ai.onnx.preview.training), in operators.
#pragma once

#include "runtime/import/node.h"

namespace hub {

void onnx_adagrad(ImportNode& n);
void onnx_adam(ImportNode& n);
void onnx_momentum(ImportNode& n);

}  // namespace hub
