// Parameter files of Paddle: a record a tensor, without names.
#pragma once

#include <string_view>

#include "base/file.h"
#include "runtime/import/paddle.pb.h"
#include "runtime/tensor.h"

namespace hub {

/// Type and shape as described; unknown dimensions are -1.
Spec paddle_spec(const fluid::TensorDesc& desc, std::string_view what);

/// The records of one file, read one after the other.
class PaddleRecords {
 public:
  explicit PaddleRecords(MappedFile file) : file_(std::move(file)) {}
  /// The next tensor, which must be what the program declares. Throws Code::refused with the offset
  /// in the file.
  Tensor next(std::string_view name, const Spec& declared);
  /// Throws Code::refused when bytes are left.
  void finish() const;

 private:
  std::span<const std::byte> take(uint64_t size, std::string_view what);
  template <class T>
  T number(std::string_view what);

  MappedFile file_;
  size_t at_ = 0;
};

}  // namespace hub
