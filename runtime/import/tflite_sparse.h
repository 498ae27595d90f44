// Sparse tensors of TensorFlow Lite.
#pragma once

#include "runtime/import/flat.h"
#include "runtime/tensor.h"

namespace hub {

/// The tensor of this type and shape whose numbers `bytes` holds in compressed form, as a
/// SparsityParameters table says. Throws Code::refused for what does not fit together.
Tensor tflite_densified(const Spec& spec, const FlatTable& sparsity, std::string_view bytes);

}  // namespace hub
