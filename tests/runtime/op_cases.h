// One table of calls for every operator: inputs, and what must come out. The reference kernels are
// tested against its numbers, every other device against the reference.
#pragma once

#include <string_view>
#include <vector>

#include "runtime/attrs.h"
#include "runtime/tensor.h"

namespace hub {

struct OpCase {
  std::string_view op;
  Attrs attrs;
  std::vector<Tensor> in;   ///< an empty one is absent
  std::vector<Tensor> out;  ///< empty: only compared between devices
};

/// All rows of op_cases_*.cc.
const std::vector<OpCase>& op_cases();

std::vector<OpCase> elementwise_cases();
std::vector<OpCase> shape_cases();
std::vector<OpCase> index_cases();
std::vector<OpCase> reduce_cases();
std::vector<OpCase> optimizer_cases();
std::vector<OpCase> network_cases();
std::vector<OpCase> nn_cases();
std::vector<OpCase> recurrent_cases();  ///< and resize
std::vector<OpCase> gradient_cases();
std::vector<OpCase> recurrent_gradient_cases();
std::vector<OpCase> control_cases();
std::vector<OpCase> quantized_cases();
std::vector<OpCase> detection_cases();  ///< and what else Paddle needs
std::vector<OpCase> list_cases();       ///< and strings
std::vector<OpCase> onnx_cases();

/// Rows of gradients and training operators in sizes that fill a device; only compared between
/// devices, not part of op_cases(). `out` says how many outputs there are.
std::vector<OpCase> training_cases();

// For writing rows.
inline Tensor f(const Shape& shape, const std::vector<float>& values) {
  return Tensor::floats(shape, values);
}
inline Tensor f(float value) { return Tensor::scalar(value); }
template <class T>
Tensor t(const Shape& shape, std::initializer_list<T> values) {
  return Tensor::of<T>(shape, std::span<const T>(values.begin(), values.size()));
}
inline Tensor i(const std::vector<int64_t>& values) { return Tensor::ints(values); }
inline Tensor i(const Shape& shape, const std::vector<int64_t>& values) {
  return Tensor::ints(values).reshaped(shape);
}
/// Any numbers in (-1, 1), the same ones each time.
Tensor noise(const Shape& shape, uint32_t seed = 1);

}  // namespace hub
