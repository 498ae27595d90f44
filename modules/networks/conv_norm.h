// A convolution without bias and the batch norm behind it, the brick of the convolutional networks;
// how many channels leave it is read off the weight.
#pragma once

#include "modules/weights.h"

namespace hub {

/// A picture value [N, channels, H, W] on its way through a network definition.
struct Picture {
  Var var;
  int64_t channels = 0;
};

struct ConvNorm {
  int64_t kernel = 1, stride = 1;  ///< square, padded by (kernel - 1) / 2
  bool depthwise = false;
};

/// Reads `<conv>.weight` and `<norm>.weight`, `.bias`, `.running_mean`, `.running_var`; epsilon
/// 1e-5.
Picture conv_norm(const Weights& weights, Picture x, const std::string& conv,
                  const std::string& norm, const ConvNorm& how);

/// [N, channels, H, W] -> the mean over H and W -> logits, declared as [-1, classes].
Var pooled_classifier(const Weights& weights, Picture x, const std::string& name);

}  // namespace hub
