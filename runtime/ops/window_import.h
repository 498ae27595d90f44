// The windows of ONNX and Paddle nodes in the words of conv, conv_transpose and pool.
#pragma once

#include "runtime/import/node.h"

namespace hub {

/// strides, pads, dilations, group, auto_pad, output_padding, output_shape as far as the node has
/// them. kernel_shape becomes `kernel` for a pool; for a convolution it must agree with the weights
/// where those are known.
Attrs onnx_window(const ImportNode& node);

/// strides, paddings (1 number a dimension or begin and end of each), padding_algorithm, dilations.
Attrs paddle_window(const ImportNode& node, int64_t rank);

}  // namespace hub
