#include "tests/runtime/op_cases.h"

namespace hub {

const std::vector<OpCase>& op_cases() {
  static const std::vector<OpCase> cases = [] {
    std::vector<OpCase> all;
    for (auto part :
         {elementwise_cases, shape_cases, index_cases, reduce_cases, optimizer_cases, network_cases,
          nn_cases, recurrent_cases, gradient_cases, recurrent_gradient_cases, control_cases,
          quantized_cases, list_cases, onnx_cases, detection_cases}) {
      for (OpCase& c : part()) all.push_back(std::move(c));
    }
    return all;
  }();
  return cases;
}

Tensor noise(const Shape& shape, uint32_t seed) {
  Tensor t(DType::f32, shape);
  for (int64_t i = 0; i < t.numel(); ++i) {
    seed = seed * 1664525 + 1013904223;
    t.data<float>()[i] = static_cast<float>(static_cast<int32_t>(seed)) * 0x1p-31F;
  }
  return t;
}

}  // namespace hub
