// Programs written by hand: one function an operator, used by the network definitions and the
// import rules. What each operator means, its attributes and its shapes stands beside its
// definition in ops/*.cc; the conventions:
//  - float images are [N, C, spatial…], weights [out, in / group, kernel…]; sequences are [rows,
//  features] with an int64
//    `offsets` value [0, …, rows] that says where each begins;
//  - numbers that may be computed (shapes, axes of a reduction, slice bounds, sizes) are int64
//  inputs, not attributes;
//  - negative axes count from the back; binary operators broadcast as NumPy does;
//  - `conv`, `conv_transpose` and `matmul` carry what was fused behind them (see post.h).
#pragma once

#include "runtime/op.h"

namespace hub {

/// conv and conv_transpose. Lists are per spatial dimension; pads are all the begins, then all the
/// ends (ONNX order).
struct Conv {
  std::vector<int64_t> strides, pads, dilations;  ///< empty: 1, 0, 1
  int64_t group = 1;
  std::string auto_pad;  ///< "", "same_upper", "same_lower" or "valid"; overrides pads
};
Var conv(Var x, Var w, Var b, const Conv& how);

struct Pool {
  std::string kind = "max";  ///< "max" or "avg"
  std::vector<int64_t> kernel, strides, pads;
};
Var pool(Var x, const Pool& how);
Var global_average(Var x);  ///< [N, C, 1, …]

/// y = (x - mean) / sqrt(variance + epsilon) * scale + bias, each [C].
Var batch_norm(Var x, Var scale, Var bias, Var mean, Var variance, double epsilon);
/// Over the last dimension.
Var layer_norm(Var x, Var scale, Var bias, double epsilon);
/// NumPy's matmul; trans_b: b is [.., N, K]. bias [N], may be absent.
Var matmul(Var a, Var b, Var bias = {}, bool trans_a = false, bool trans_b = false,
           double alpha = 1);
/// Multi-head attention: q, k, v [B, S, heads * D]; mask [B, S_k], 1 keep, 0 ignore, may be absent.
Var attention(Var q, Var k, Var v, Var mask, int64_t heads);
Var embedding(Var table, Var ids);  ///< [.., D]: gather along axis 0

Var add(Var a, Var b);
Var mul(Var a, Var b);
Var unary(std::string_view op, Var x);  ///< "relu", "gelu", "tanh", "sigmoid", "hard_swish", …
Var clip(Var x, double min, double max);
Var softmax(Var x, int64_t axis);
Var reshape(Var x, std::vector<int64_t> shape);  ///< 0 copies a dimension, -1 infers one
Var transpose(Var x, std::vector<int64_t> perm);

}  // namespace hub
