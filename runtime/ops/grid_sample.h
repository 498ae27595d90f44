// Where an affine map reads: what grid_sample is given.
#pragma once

#include "runtime/op.h"

namespace hub {

/// theta [N, rank, rank + 1] applied to the places of a picture of `size` [N, C, spatial…] (a list
/// of integers): [N, spatial…, rank], each from -1 to 1, the last dimension first.
Var affine_grid(Var theta, Var size, int64_t rank, bool align_corners);

}  // namespace hub
