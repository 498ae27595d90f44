// Convolutions in oneDNN's terms, for both directions.
#pragma once

#include "runtime/device/onednn/onednn.h"
#include "runtime/ops/window.h"

namespace hub::onednn {

/// Window sizes: dilations count the gaps, pads are two lists.
struct Windows {
  dnnl::memory::dims strides, dilations, begin, end;
};

/// Weights as oneDNN counts them: [O, I, k…], or [g, O / g, I / g, k…] when grouped.
dnnl::memory::dims weight_dims(const Shape& w, int64_t group, bool transposed);
/// `large` is the picture over which the window slides.
Windows windows_of(const Window& window, const Shape& large);
/// Those of a transposed convolution x -> y, where the window slides over y; false when a pad would
/// be negative.
bool transposed_windows(const Window& window, const Shape& x, const Shape& y, Windows& out);
bool image_rank(const Shape& s);

}  // namespace hub::onednn
