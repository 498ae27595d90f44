// Element types as files number them.
#pragma once

#include <string_view>

#include "runtime/tensor.h"

namespace hub {

/// TensorProto.DataType of ONNX; throws Code::unsupported naming `what` for what is no plain
/// number.
DType onnx_dtype(int code, std::string_view what);
/// VarType.Type of Paddle, likewise.
DType paddle_dtype(int type, std::string_view what);

}  // namespace hub
