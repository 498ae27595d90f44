// What the fuzz targets share: a target reads any bytes and may only throw an Error, and what it
// made of them is put to use.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/file.h"
#include "runtime/import/import.h"

namespace hub {

/// Runs f, which may refuse with an Error; anything else that leaves it is a finding.
template <class F>
int attempt(F&& f) {
  try {
    f();
  } catch (const Error&) {
  }
  return 0;
}

/// Ends the run where what was made is not what it must be.
inline void check(bool holds) {
  if (!holds) __builtin_trap();
}

inline std::string_view text_of(const uint8_t* data, size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

/// A folder where every name is a file of these bytes.
struct OneFile final : Files {
  explicit OneFile(std::string_view bytes) : bytes(bytes) {}
  MappedFile open(const RelPath&) const override { return MappedFile::of(std::string(bytes)); }
  bool has(const RelPath&) const override { return true; }
  std::string_view bytes;
};

/// A file called "first" and, under every other name, a second one, out of one input: the length of
/// the first (two bytes, little-endian), the first, the second.
struct TwoFiles final : Files {
  explicit TwoFiles(std::string_view input) {
    uint16_t length = 0;
    std::memcpy(&length, input.data(), std::min(input.size(), sizeof length));
    input.remove_prefix(std::min(input.size(), sizeof length));
    first = input.substr(0, length);
    second = input.substr(first.size());
  }
  MappedFile open(const RelPath& path) const override {
    return MappedFile::of(std::string(path.str() == "first" ? first : second));
  }
  bool has(const RelPath&) const override { return true; }
  std::string_view first, second;
};

/// Text and bytes of the program and back, the passes, and a run on small inputs by the reference
/// kernels. What would take more than a small budget is refused on the way.
void exercise(const Program& program);

/// Reads every number.
void exercise(const NamedTensors& tensors);

}  // namespace hub
