// The values of ONNX's tests: tensors, sequences and optional ones, each in a file of its own.
#pragma once

#include <string>

#include "runtime/import/onnx.pb.h"
#include "runtime/tensor.h"

namespace hub {

/// A file as the type says, a sequence or optional value as a list.
Tensor read_value(const std::string& path, const onnx::Type& type);

/// Throws Code::numeric unless both have the same types and shapes and, within the tolerances, the
/// same numbers.
void check_equal(const Tensor& found, const Tensor& wanted, double relative, double absolute);

}  // namespace hub
