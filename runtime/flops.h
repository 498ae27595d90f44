// How much arithmetic a call asks for.
#pragma once

#include <span>

#include "runtime/program.h"
#include "runtime/tensor.h"

namespace hub {

/// Multiplications and additions of a call as it is defined, whatever the implementation makes of
/// it: of convolutions, matrix products, attention and recurrent layers; 0 for other operators.
/// Specs are real, and empty where an operand is absent.
double flops_of(const OpCall& call, std::span<const Spec> in, std::span<const Spec> out);

}  // namespace hub
