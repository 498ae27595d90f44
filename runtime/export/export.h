// Files out: what the importers read back.
#pragma once

#include <functional>
#include <string_view>

#include "runtime/import/import.h"

namespace hub {

/// Named tensors as a safetensors file, piece by piece to `sink`: the header, then the numbers,
/// each tensor aligned to its element size. The same tensors give the same bytes.
void write_safetensors(const NamedTensors& tensors,
                       const std::function<void(std::string_view)>& sink);

}  // namespace hub
