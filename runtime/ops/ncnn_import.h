// Import rules for ncnn.
#pragma once

#include "runtime/import/node.h"

namespace hub {

/// Pictures are [N, C, H, W]. A rule knows the parameters of its layer by the names in
/// import/ncnn.cc, and its weights as inputs behind those of the file, flat as they lie there.
const std::vector<Import>& ncnn_imports();

}  // namespace hub
