// Plane geometry of text boxes: hulls, smallest rectangles, offsets, and cutting a slanted box out
// of a picture. Points are pixel centres, x to the right and y down.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "modules/image.h"

namespace hub {

struct Point {
  float x = 0, y = 0;
  bool operator==(const Point&) const = default;
};
using Polygon = std::vector<Point>;
using Quad = std::array<Point, 4>;

float distance(Point a, Point b);
double area(std::span<const Point> polygon);
double perimeter(std::span<const Point> polygon);

/// The corners of the convex hull in turning order, without collinear points. One or two points
/// stay as they are.
Polygon convex_hull(std::vector<Point> points);

/// The corners as top left, top right, bottom right, bottom left: the two leftmost are the left
/// side, whatever the slant.
Quad ordered(Quad corners);

struct Rectangle {
  Quad corners;  ///< as ordered() gives them
  float shorter = 0;
};
/// The rectangle of smallest area around the points; of no area when they lie on a line. At least
/// one point.
Rectangle min_area_rectangle(std::vector<Point> points);

/// A convex polygon with integer corners grown outwards by `distance` with rounded corners, on
/// integer points.
Polygon offset_rounded(std::span<const Point> polygon, double distance);

/// Mean of a map [height, width] over a convex quadrilateral with its outline; corners are cut to
/// integers. 0 when it lies outside.
double mean_inside(std::span<const float> map, int width, int height, const Quad& corners);

/// The perspective picture of width x height whose corners are the quad's: (0, 0) is corners[0],
/// (width, 0) corners[1] and so on. Bicubic; the border repeats outwards.
Image warp(const Image& image, const Quad& corners, int width, int height);

Image turned_left(const Image& image);  ///< 90 degrees counter-clockwise
Image turned_over(const Image& image);  ///< 180 degrees

}  // namespace hub
