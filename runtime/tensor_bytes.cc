#include "runtime/tensor_bytes.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"

namespace hub {

Tensor tensor_from_bytes(const Spec& spec, std::span<const std::byte> bytes,
                         std::shared_ptr<const void> owner) {
  if (!is_plain(spec.dtype)) fail(Code::refused, spec.str(), " cannot lie in bytes");
  const size_t wanted = bytes_of(spec);
  if (bytes.size() != wanted)
    fail(Code::refused, spec.str(), " needs ", wanted, " bytes, there are ", bytes.size());
  if (wanted == 0) return Tensor(spec.dtype, spec.shape);
  const bool odd_bools = spec.dtype == DType::boolean &&
                         std::ranges::any_of(bytes, [](std::byte b) { return b > std::byte{1}; });
  const bool aligned = reinterpret_cast<uintptr_t>(bytes.data()) % size_of(spec.dtype) == 0;
  if (aligned && !odd_bools) return Tensor(spec.dtype, spec.shape, std::move(owner), bytes.data());
  Tensor copy(spec.dtype, spec.shape);
  std::memcpy(copy.raw(), bytes.data(), wanted);
  if (odd_bools)
    for (std::byte& b : std::span(static_cast<std::byte*>(copy.raw()), wanted))
      b = std::byte{b != std::byte{0}};
  return copy;
}

}  // namespace hub
