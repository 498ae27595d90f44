// Import rules for TensorFlow Lite.
#pragma once

#include "runtime/import/node.h"

namespace hub {

/// Pictures are [N, H, W, C]. A rule knows the file's shapes of its inputs (attributes shape0,
/// shape1, …) and of its first output (output_shape), and options by the names in import/tflite.cc.
const std::vector<Import>& tflite_imports();

}  // namespace hub
