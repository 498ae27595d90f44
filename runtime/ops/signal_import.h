// The nodes of ONNX about signals, in operators.
#pragma once

#include "runtime/import/node.h"

namespace hub {

void onnx_dft(ImportNode& n);
void onnx_stft(ImportNode& n);
void onnx_window_function(ImportNode& n);  ///< HannWindow, HammingWindow, BlackmanWindow
void onnx_mel_weight_matrix(ImportNode& n);

}  // namespace hub
