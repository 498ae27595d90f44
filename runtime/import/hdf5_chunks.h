// What the parts of the HDF5 reader share: checked reads, B-trees of version 1, data sets in
// chunks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <set>
#include <span>
#include <string_view>

#include "base/error.h"
#include "runtime/tensor.h"

namespace hub::hdf5 {

using Bytes = std::span<const std::byte>;

constexpr uint64_t nowhere = ~uint64_t{0};  ///< the address of what was never written

/// The little-endian number at `at`. Throws Code::refused where the bytes end before it does.
template <class T>
T number(Bytes bytes, size_t at) {
  if (at > bytes.size() || bytes.size() - at < sizeof(T))
    fail(Code::refused, "it is damaged: a number lies behind the end of its ", bytes.size(),
         " bytes");
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

class Source {
 public:
  explicit Source(Bytes file) : file_(file) {}

  template <class T>
  T at(uint64_t address) const {
    return number<T>(file_, address);
  }
  Bytes part(uint64_t address, uint64_t size) const;
  /// The same for numbers. All that is taken is at most as large as the file: more can only be the
  /// same bytes again.
  Bytes take(uint64_t address, uint64_t size);
  /// Throws Code::refused unless the structure there begins with this mark.
  void want(uint64_t address, std::string_view mark) const;
  /// Throws Code::refused when it was called with this address before.
  void once(uint64_t address);
  /// Calls f(key, child) for what the leaves of a B-tree lead to; `kind` 0 is that of groups, 1
  /// that of chunks.
  void leaves(uint64_t root, uint8_t kind, size_t key_size,
              const std::function<void(Bytes, uint64_t)>& f);

 private:
  void node(uint64_t address, uint8_t kind, size_t key_size, int level,
            const std::function<void(Bytes, uint64_t)>& f);

  Bytes file_;
  std::set<uint64_t> seen_;
  uint64_t taken_ = 0;
};

/// The numbers of a data set whose layout message says that they lie in chunks; `filters` is its
/// message of filters, empty without one. All chunks must be there: what they inflate to is at most
/// some thousand times the bytes of the file.
Tensor read_chunks(Source& source, Bytes layout, Bytes filters, const Spec& spec);

}  // namespace hub::hdf5
