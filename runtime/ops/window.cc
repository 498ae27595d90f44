#include "runtime/ops/window.h"

#include <algorithm>

#include "base/error.h"

namespace hub {
namespace {

constexpr int64_t most = int64_t{1}
                         << 31;  // of any one number, so that products stay far from overflow

/// The attribute as one number a dimension, each in [least, most).
std::vector<int64_t> numbers(const Attrs& attrs, std::string_view name, size_t count,
                             int64_t fallback, int64_t least) {
  std::vector<int64_t> v = attrs.ints(name);
  if (v.empty()) v.assign(count, fallback);
  if (v.size() != count)
    fail(Code::refused, "'", name, "' holds ", v.size(), " numbers where ", count, " are wanted");
  for (int64_t x : v) {
    if (x < least || x >= most)
      fail(Code::refused, "'", name, "' holds ", x, ", which is out of range");
  }
  return v;
}

int64_t extent(const Window& w, size_t d) { return (w.kernel[d] - 1) * w.dilations[d] + 1; }

/// Strides, dilations and declared pads; kernel and sizes are checked.
Window declared(const Attrs& attrs, std::span<const int64_t> in, std::vector<int64_t> kernel) {
  Window w;
  const size_t n = in.size();
  if (kernel.size() != n) {
    fail(Code::refused, "a window of ", kernel.size(), " dimensions over an input with ", n,
         " spatial ones");
  }
  for (size_t d = 0; d < n; ++d) {
    if (in[d] < 0 || in[d] >= most || kernel[d] < 1 || kernel[d] >= most) {
      fail(Code::refused, "a window of ", kernel[d], " over ", in[d], " elements");
    }
  }
  w.kernel = std::move(kernel);
  Shape(std::span<const int64_t>(w.kernel)).numel();  // can be counted
  w.strides = numbers(attrs, "strides", n, 1, 1);
  w.dilations = numbers(attrs, "dilations", n, 1, 1);
  const auto pads = numbers(attrs, "pads", 2 * n, 0, 0);
  w.pad_begin.assign(pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(n));
  w.pad_end.assign(pads.begin() + static_cast<std::ptrdiff_t>(n), pads.end());
  w.out.assign(n, 0);
  return w;
}

/// Spreads `total` over both ends: the odd one goes to the end for same_upper, a negative total all
/// to the end.
void spread(Window& w, size_t d, int64_t total, bool upper) {
  w.pad_begin[d] = total < 0 ? 0 : upper ? total / 2 : total - total / 2;
  w.pad_end[d] = total - w.pad_begin[d];
}

enum class AutoPad { none, upper, lower, valid };

AutoPad auto_pad(const Attrs& attrs) {
  const std::string s = attrs.s("auto_pad", "");
  if (s.empty()) return AutoPad::none;
  if (s == "same_upper") return AutoPad::upper;
  if (s == "same_lower") return AutoPad::lower;
  if (s == "valid") return AutoPad::valid;
  fail(Code::refused, "'auto_pad' is '", s, "'; 'same_upper', 'same_lower' or 'valid' is wanted");
}

/// Pads of `same` and `valid`, then the output sizes.
void resolve(Window& w, std::span<const int64_t> in, AutoPad pad, bool ceil) {
  for (size_t d = 0; d < in.size(); ++d) {
    if (pad == AutoPad::valid) w.pad_begin[d] = w.pad_end[d] = 0;
    if (pad == AutoPad::upper || pad == AutoPad::lower) {
      const int64_t out = (in[d] + w.strides[d] - 1) / w.strides[d];
      const int64_t total = std::max<int64_t>((out - 1) * w.strides[d] + extent(w, d) - in[d], 0);
      spread(w, d, total, pad == AutoPad::upper);
      ceil = false;
    }
    const int64_t room = in[d] + w.pad_begin[d] + w.pad_end[d] - extent(w, d);
    if (room < 0) {
      fail(Code::refused, "a window of ", extent(w, d), " does not fit into ", in[d],
           " elements with pads of ", w.pad_begin[d], " and ", w.pad_end[d]);
    }
    w.out[d] = (room + (ceil ? w.strides[d] - 1 : 0)) / w.strides[d] + 1;
    if (ceil && (w.out[d] - 1) * w.strides[d] >= in[d] + w.pad_begin[d]) --w.out[d];
  }
}

}  // namespace

Window conv_window(const Attrs& attrs, std::span<const int64_t> in,
                   std::span<const int64_t> kernel) {
  Window w = declared(attrs, in, {kernel.begin(), kernel.end()});
  resolve(w, in, auto_pad(attrs), false);
  return w;
}

Window conv_transpose_window(const Attrs& attrs, std::span<const int64_t> in,
                             std::span<const int64_t> kernel) {
  Window w = declared(attrs, in, {kernel.begin(), kernel.end()});
  const AutoPad pad = auto_pad(attrs);
  const auto more = numbers(attrs, "output_padding", in.size(), 0, 0);
  const auto wanted = numbers(attrs, "output_shape", in.size(), 0, 0);
  for (size_t d = 0; d < in.size(); ++d) {
    const int64_t full = w.strides[d] * (in[d] - 1) + more[d] + extent(w, d);
    if (wanted[d] > 0) {
      w.out[d] = wanted[d];
      spread(w, d, full - wanted[d], pad == AutoPad::upper);
    } else if (pad == AutoPad::upper || pad == AutoPad::lower) {
      w.out[d] = in[d] * w.strides[d];
      spread(w, d, full - w.out[d], pad == AutoPad::upper);
    } else {
      if (pad == AutoPad::valid) w.pad_begin[d] = w.pad_end[d] = 0;
      w.out[d] = full - w.pad_begin[d] - w.pad_end[d];
    }
    if (w.out[d] < 1 || w.out[d] >= most) {
      fail(Code::refused, "a transposed window over ", in[d], " elements gives ", w.out[d],
           " elements");
    }
  }
  return w;
}

Window pool_window(const Attrs& attrs, std::span<const int64_t> in) {
  if (attrs.i("global", 0) != 0) {
    const std::vector<int64_t> all(in.begin(), in.end());
    Window w = declared({}, in, all);
    resolve(w, in, AutoPad::none, false);
    return w;
  }
  if (!attrs.has("adaptive")) {
    Window w = declared(attrs, in, attrs.ints("kernel"));
    resolve(w, in, auto_pad(attrs), attrs.i("ceil_mode", 0) != 0);
    return w;
  }
  const auto out = numbers(attrs, "adaptive", in.size(), 1, 1);
  std::vector<int64_t> kernel(in.size(), 1);
  for (size_t d = 0; d < in.size(); ++d) kernel[d] = std::max<int64_t>(in[d] / out[d], 1);
  Window w = declared({}, in, kernel);
  w.strides = kernel;
  w.out = out;
  for (size_t d = 0; d < in.size(); ++d) w.uneven = w.uneven || in[d] % out[d] != 0;
  return w;
}

}  // namespace hub
