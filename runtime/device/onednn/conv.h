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

/// A convolution of our own on pictures in blocks of channels: made.run(x, weights, bias, residual,
/// y, scratch) with weights in `layout` and room for `scratch` numbers; bias and residual may be
/// null.
template <class Made>
Prepared own_conv(const Made& made, LayoutPtr layout, std::span<const Operand> in, const Shape& y,
                  int64_t scratch, std::string how) {
  Prepared p;
  p.in.assign(in.size(), nullptr);
  p.in[0] = image_layout(in[0].spec.shape);
  p.in[1] = std::move(layout);
  if (in.size() > 3 && in[3].present) p.in[3] = image_layout(y);
  p.out = {image_layout(y)};
  p.scratch = static_cast<size_t>(scratch) * sizeof(float);
  p.how = std::move(how);
  p.bind = [made](const Places& at) -> Step {
    const auto place = [&](size_t i) {
      return static_cast<float*>(i < at.in.size() ? at.in[i] : nullptr);
    };
    return [=, x = place(0), weights = place(1), bias = place(2), residual = place(3),
            y = static_cast<float*>(at.out[0]), room = static_cast<float*>(at.scratch)] {
      made.run(x, weights, bias, residual, y, room);
    };
  };
  return p;
}

}  // namespace hub::onednn
