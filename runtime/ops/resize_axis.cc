#include "runtime/ops/resize_axis.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace hub {
namespace {

/// Where new element i lies among the old ones.
double coordinate(const std::string& mode, const ResizeAxis& a, int64_t i) {
  const auto in = static_cast<double>(a.in);
  const auto out = static_cast<double>(a.out);
  // A given scale is a float, and its quotients are rounded as floats: 1.5 / 0.6 must be 2.5.
  auto unscale = [&](double x) {
    return a.scale == 0 ? x * in / out : static_cast<double>(static_cast<float>(x) / a.scale);
  };
  const auto x = static_cast<double>(i);
  if (mode == "half_pixel" || (mode == "pytorch_half_pixel" && a.out > 1))
    return unscale(x + 0.5) - 0.5;
  if (mode == "pytorch_half_pixel") return 0;
  if (mode == "asymmetric") return unscale(x);
  if (mode == "tf_half_pixel_for_nn") return unscale(x + 0.5);
  if (mode == "align_corners") {
    // By the unrounded size when a scale is given, as the ONNX tests have it.
    const double size = a.scale == 0 ? out : static_cast<double>(static_cast<float>(in) * a.scale);
    return size == 1 || a.out == 1 ? 0 : x * (in - 1) / (size - 1);
  }
  if (mode == "half_pixel_symmetric") {
    const double exact = a.scale == 0 ? out : static_cast<double>(a.scale) * in;
    return in / 2 * (1 - out / exact) + unscale(x + 0.5) - 0.5;
  }
  if (mode == "tf_crop_and_resize") {
    if (a.out == 1) return 0.5 * (a.roi_begin + a.roi_end) * (in - 1);
    return a.roi_begin * (in - 1) + x * (a.roi_end - a.roi_begin) * (in - 1) / (out - 1);
  }
  fail(Code::unsupported, "'coordinate_transformation_mode' is '", mode, "'");
}

int64_t nearest(const std::string& mode, double x, bool shrinks) {
  double y = 0;
  if (mode == "round_prefer_floor") {
    y = std::ceil(x - 0.5);
  } else if (mode == "round_prefer_ceil") {
    y = std::floor(x + 0.5);
  } else if (mode == "floor" || (mode == "simple" && !shrinks)) {
    y = std::floor(x);
  } else if (mode == "ceil" || mode == "simple") {
    y = std::ceil(x);
  } else {
    fail(Code::unsupported, "'nearest_mode' is '", mode, "'");
  }
  return static_cast<int64_t>(y);
}

/// The tent and Keys' cubic kernel at distance t.
double tent(double t) { return std::max(0.0, 1 - std::fabs(t)); }
double cubic(double t, double a) {
  t = std::fabs(t);
  if (t <= 1) return ((a + 2) * t - (a + 3)) * t * t + 1;
  return t < 2 ? ((t - 5) * t + 8) * t * a - 4 * a : 0;
}

}  // namespace

ResizeTable resize_table(const Attrs& attrs, const ResizeAxis& axis) {
  const std::string mode = attrs.s("mode", "nearest");
  const std::string where = attrs.s("coordinate_transformation_mode", "half_pixel");
  const std::string rounding = attrs.s("nearest_mode", "round_prefer_floor");
  const double a = attrs.f("cubic_coeff_a", -0.75);
  const double ratio = axis.scale == 0
                           ? static_cast<double>(axis.out) / static_cast<double>(axis.in)
                           : static_cast<double>(axis.scale);
  ResizeTable table;
  int64_t reach = 0;   // taps on each side
  double squeeze = 1;  // of the kernel: below 1 it is widened against aliasing
  if (mode != "nearest") {
    const int64_t radius = mode == "cubic" ? 2 : 1;
    if (attrs.i("antialias", 0) != 0) squeeze = std::min(1.0, ratio);
    reach = static_cast<int64_t>(std::ceil(static_cast<double>(radius) / squeeze));
    table.taps = 2 * reach;
  }
  for (int64_t i = 0; i < axis.out; ++i) {
    const double x = coordinate(where, axis, i);
    if (!(std::fabs(x) < 1e15)) fail(Code::refused, "it would read at ", x);
    if (where == "tf_crop_and_resize")
      table.outside.push_back(x < 0 || x > static_cast<double>(axis.in - 1));
    if (reach == 0) {
      table.index.push_back(std::clamp<int64_t>(nearest(rounding, x, ratio < 1), 0, axis.in - 1));
      continue;
    }
    const auto first = static_cast<int64_t>(std::floor(x)) - reach + 1;
    std::vector<double> weights;
    double sum = 0;
    for (int64_t k = first; k < first + table.taps; ++k) {
      const double t = (static_cast<double>(k) - x) * squeeze;
      const bool left_out = attrs.i("exclude_outside", 0) != 0 && (k < 0 || k >= axis.in);
      weights.push_back(left_out ? 0 : mode == "cubic" ? cubic(t, a) : tent(t));
      sum += weights.back();
      table.index.push_back(std::clamp<int64_t>(k, 0, axis.in - 1));
    }
    for (double w : weights) table.weight.push_back(static_cast<float>(w / sum));
  }
  return table;
}

}  // namespace hub
