// Resizing along one axis: which elements make each new one, and with what weights. Rules and names
// are those of ONNX.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/attrs.h"

namespace hub {

struct ResizeAxis {
  size_t axis = 0;
  int64_t in = 0, out = 0;
  /// What coordinates are divided by. Zero: by out / in, computed exactly.
  float scale = 0;
  float roi_begin = 0, roi_end = 1;  ///< of tf_crop_and_resize
};

/// New element i is the sum over k < taps of weight[i * taps + k] * old[index[i * taps + k]];
/// weights are empty for the nearest neighbour. Where outside[i], it is `extrapolation_value`.
struct ResizeTable {
  int64_t taps = 1;
  std::vector<int64_t> index;
  std::vector<float> weight;
  std::vector<bool> outside;  ///< empty: nowhere
};

/// Throws Code::unsupported on a mode that does not exist.
ResizeTable resize_table(const Attrs& attrs, const ResizeAxis& axis);

}  // namespace hub
