#include "runtime/ops/window_import.h"

#include "base/text.h"

namespace hub {

Attrs onnx_window(const ImportNode& node) {
  Attrs attrs;
  for (const char* name : {"strides", "pads", "dilations", "output_padding", "output_shape"}) {
    if (const auto v = node.attrs.ints(name); !v.empty()) attrs.set(name, v);
  }
  if (node.attrs.has("group")) attrs.set("group", node.attrs.i("group"));
  if (const std::string pad = lower_ascii(node.attrs.s("auto_pad", "NOTSET")); pad != "notset") {
    attrs.set("auto_pad", pad);
    attrs.erase("pads");
  }
  const auto kernel = node.attrs.ints("kernel_shape");
  if (node.type != "Conv" && node.type != "ConvTranspose") {
    if (!kernel.empty()) attrs.set("kernel", kernel);
  } else if (const Var w = node.in(1); w && w.constant() && !kernel.empty()) {
    const Shape& shape = w.constant().shape();
    if (shape.rank() < 2 || kernel != std::vector<int64_t>(shape.begin() + 2, shape.end())) {
      fail(Code::refused, node.type, " node '", node.name,
           "': 'kernel_shape' does not fit weights ", shape.str());
    }
  }
  return attrs;
}

Attrs paddle_window(const ImportNode& node, int64_t rank) {
  Attrs attrs;
  for (const char* name : {"strides", "dilations"}) {
    if (const auto v = node.attrs.ints(name); !v.empty()) attrs.set(name, v);
  }
  const std::string how = node.attrs.s("padding_algorithm", "EXPLICIT");
  if (how == "SAME") {
    attrs.set("auto_pad", std::string("same_upper"));
    // Paddle drops the dilations of a convolution that pads itself.
    attrs.erase("dilations");
  } else if (how == "VALID") {
    attrs.set("auto_pad", std::string("valid"));
  } else if (how != "EXPLICIT") {
    node.refuse("'padding_algorithm' is ", how);
  }
  const auto paddings = node.attrs.ints("paddings");
  const auto n = static_cast<size_t>(rank);
  if (how != "EXPLICIT" || paddings.empty()) return attrs;
  if (paddings.size() != n && paddings.size() != 2 * n)
    node.refuse("'paddings' holds ", paddings.size(), " numbers");
  std::vector<int64_t> pads(2 * n);
  for (size_t d = 0; d < n; ++d) {
    const bool pairs = paddings.size() == 2 * n;
    pads[d] = paddings[pairs ? 2 * d : d];
    pads[n + d] = paddings[pairs ? 2 * d + 1 : d];
  }
  attrs.set("pads", pads);
  return attrs;
}

}  // namespace hub
