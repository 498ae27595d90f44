// Numbers as text and back, as NumPy has it.
#pragma once

#include "runtime/tensor.h"

namespace hub {

/// Numbers to strings or strings to numbers, x and y having as many elements. Throws Code::refused,
/// unsupported.
void cast_text(const Tensor& x, Tensor& y);

}  // namespace hub
