// A tensor out of the bytes of a file.
#pragma once

#include <memory>
#include <span>

#include "runtime/tensor.h"

namespace hub {

/// Views `bytes` where their address suits the type, copies them otherwise; a bool is made 0 or 1.
/// Throws Code::refused when the bytes are not exactly as many as the type and shape need.
Tensor tensor_from_bytes(const Spec& spec, std::span<const std::byte> bytes,
                         std::shared_ptr<const void> owner);

}  // namespace hub
