// Turned squares in a picture: where a second network looks closer at what a first one found.
#pragma once

#include <span>

#include "modules/figure.h"

namespace hub {

/// In pixels of the picture; angle in radians, clockwise as it is seen.
struct Region {
  double x = 0, y = 0;  ///< the middle
  double side = 0, angle = 0;

  /// The place in the picture of (u, v) in the square, whose upper left corner is (0, 0) and whose
  /// lower right one (1, 1).
  KeyPoint at(double u, double v) const;
};

/// The smallest upright square around a picture, with it in the middle.
Region square_around(const Image& image);

/// What lies in the region, size x size pixels; outside of the picture it is black, or the border
/// repeats. As OpenCV's warpPerspective of 8-bit pixels with INTER_LINEAR.
Image cut_out(const Image& image, const Region& region, int size, bool repeat);

/// From what was found to the squares to look at, as MediaPipe's calculators make them.
class RegionRule {
 public:
  RegionRule() = default;
  /// The keys: around, "box" or "points" (a circle with its centre at point `from`, through point
  /// `to`); from, to, angle: turned so that the way between these points has that angle in degrees,
  /// counter-clockwise from the right; scale; shift: downwards in heights of the box; most: how
  /// many are looked at; overlap: of two upright squares that overlap by more (intersection over
  /// union) the later stays.
  explicit RegionRule(Fields& fields);
  std::vector<Region> regions(std::span<const Figure> found) const;

 private:
  Region region(const Figure& figure) const;

  bool box_ = false;
  size_t from_ = 0, to_ = 0, most_ = 0;
  double angle_ = 0, scale_ = 1, shift_ = 0, overlap_ = 0;
};

}  // namespace hub
