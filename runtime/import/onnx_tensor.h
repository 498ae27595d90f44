// Tensors and types of ONNX files.
#pragma once

#include <map>
#include <string>

#include "base/file.h"
#include "runtime/import/onnx.pb.h"
#include "runtime/tensor.h"

namespace hub {

/// The files with external data that a model names, each mapped once. They lie in the model's
/// folder or below it.
class OnnxExternalData {
 public:
  OnnxExternalData(const Files& files, RelPath model) : files_(files), model_(std::move(model)) {}
  /// The bytes that `tensor` (of `size` bytes) points to. Throws Code::refused, not_found.
  std::span<const std::byte> find(const onnx::Tensor& tensor, size_t size,
                                  std::shared_ptr<const void>& owner);

 private:
  const Files& files_;
  const RelPath model_;
  std::map<RelPath, MappedFile> open_;
};

/// Takes the raw bytes out of `tensor` instead of copying them. Throws Code::refused, unsupported,
/// naming the tensor.
Tensor onnx_tensor(onnx::Tensor& tensor, OnnxExternalData& external);

/// What a file says of an input or output; no dtype when it leaves the type or the rank open.
/// Sequences and optional values are lists.
Spec onnx_spec(const onnx::ValueInfo& info);

}  // namespace hub
