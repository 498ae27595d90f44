// The activation functions of ONNX's recurrent operators, by name and with their parameters.
#pragma once

#include <string>
#include <vector>

#include "runtime/attrs.h"

namespace hub {

struct GateFunction {
  enum class Kind {
    sigmoid,
    tanh,
    relu,
    affine,
    leaky_relu,
    thresholded_relu,
    scaled_tanh,
    hard_sigmoid,
    elu,
    softsign,
    softplus
  };
  Kind kind = Kind::sigmoid;
  float alpha = 0, beta = 0;
  float clip = 0;  ///< of the argument, to [-clip, clip]; 0: none
  template <class T>
  T operator()(T x) const;
  /// The derivative at x.
  template <class T>
  T slope(T x) const;
};

/// activations, activation_alpha, activation_beta, clip: `defaults.size()` functions for each of
/// the directions. Throws Code::unsupported on an unknown name, Code::refused on a wrong number of
/// names.
std::vector<std::vector<GateFunction>> gate_functions(const Attrs& attrs,
                                                      const std::vector<std::string>& defaults,
                                                      int64_t directions);

}  // namespace hub
