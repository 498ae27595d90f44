// Sliding windows: the sizes and pads of convolutions and pools, resolved for real input sizes. The
// one place that knows auto_pad, floor and ceiling; shape inference, the reference and the devices
// all ask here.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/attrs.h"

namespace hub {

/// One number a spatial dimension in each list.
struct Window {
  std::vector<int64_t> kernel, strides, dilations, pad_begin, pad_end, out;
  /// pool: the windows are floor(i * in / out) .. ceil((i + 1) * in / out), and do not all have one
  /// size; kernel, strides and pads then mean nothing.
  bool uneven = false;
  size_t rank() const { return out.size(); }
  /// Pads at the end that make the floor formula give `out` (a ceiling window may reach past
  /// pad_end): what oneDNN wants.
  int64_t reach_end(size_t d, int64_t in) const {
    return (out[d] - 1) * strides[d] + (kernel[d] - 1) * dilations[d] + 1 - in - pad_begin[d];
  }
};

/// conv: strides, pads, dilations, auto_pad. Throws Code::refused on attributes that do not fit or
/// an empty output.
Window conv_window(const Attrs& attrs, std::span<const int64_t> in,
                   std::span<const int64_t> kernel);

/// conv_transpose: also output_padding and output_shape. out = strides * (in - 1) + extent - pads +
/// output_padding; a pad at the end may be negative.
Window conv_transpose_window(const Attrs& attrs, std::span<const int64_t> in,
                             std::span<const int64_t> kernel);

/// pool: kernel, strides, pads, dilations, ceil_mode, auto_pad, global, adaptive. No window starts
/// behind the input. A global pool and an even adaptive one come out as an ordinary window.
Window pool_window(const Attrs& attrs, std::span<const int64_t> in);

}  // namespace hub
