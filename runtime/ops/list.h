// Declares every operator of ops.list; a file that defines one includes this.
#pragma once

#include <vector>

#include "runtime/op.h"

namespace hub {

#define OP(name) extern const OpDef name##_op;
#define OPS(name) extern const std::vector<OpDef> name##_ops;
#include "runtime/ops/ops.list"
#undef OP
#undef OPS

}  // namespace hub
