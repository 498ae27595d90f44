#include "modules/weights.h"

#include "base/error.h"
#include "base/text.h"

namespace hub {

Var Weights::take(const std::string& name, const Shape& shape) const {
  const auto it = tensors_.find(name);
  if (it == tensors_.end()) {
    fail(Code::refused, "tensor '", printable(name), "' is missing among ", tensors_.size(),
         "; wanted float32", shape.str());
  }
  const Tensor& tensor = it->second;
  bool fits = tensor.shape().rank() == shape.rank();
  for (size_t i = 0; fits && i < shape.rank(); ++i)
    fits = shape[i] == -1 || shape[i] == tensor.shape()[i];
  const DType dtype = tensor.dtype();
  const bool real =
      dtype == DType::f32 || dtype == DType::f64 || dtype == DType::f16 || dtype == DType::bf16;
  if (!fits || !real) {
    fail(Code::refused, "tensor '", printable(name), "' is ", tensor.spec().str(),
         ", wanted float32", shape.str());
  }
  return constant(program_,
                  dtype == DType::f32 ? tensor : Tensor::floats(tensor.shape(), tensor.to_floats()),
                  name);
}

}  // namespace hub
