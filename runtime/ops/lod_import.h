// Paddle's operators on sequences (a LoD), in other operators; their rules hang on scatter_nd.
#pragma once

#include <vector>

#include "runtime/op.h"

namespace hub {

const std::vector<Import>& lod_imports();

/// The offsets of sequences of so many rows each: an integer list.
Var offsets_of_counts(ImportNode& n, Var counts);

}  // namespace hub
