// Hulls, smallest rectangles and rounded offsets. Numbers agree with OpenCV's and Clipper's to
// float rounding.
#include "modules/geometry.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace hub {

namespace {

double cross(Point o, Point a, Point b) {
  return (double{a.x} - o.x) * (double{b.y} - o.y) - (double{a.y} - o.y) * (double{b.x} - o.x);
}

struct Vector {
  double x = 0, y = 0;
};

}  // namespace

float distance(Point a, Point b) { return std::hypot(a.x - b.x, a.y - b.y); }

double area(std::span<const Point> polygon) {
  double twice = 0;
  for (size_t i = 0; i < polygon.size(); ++i) {
    const Point a = polygon[i], b = polygon[(i + 1) % polygon.size()];
    twice += double{a.x} * b.y - double{a.y} * b.x;
  }
  return std::abs(twice) / 2;
}

double perimeter(std::span<const Point> polygon) {
  double sum = 0;
  for (size_t i = 0; i < polygon.size(); ++i) {
    const Point a = polygon[i], b = polygon[(i + 1) % polygon.size()];
    sum += std::hypot(double{a.x} - b.x, double{a.y} - b.y);
  }
  return sum;
}

Polygon convex_hull(std::vector<Point> points) {
  const auto less = [](Point a, Point b) { return a.x != b.x ? a.x < b.x : a.y < b.y; };
  std::sort(points.begin(), points.end(), less);
  points.erase(std::unique(points.begin(), points.end()), points.end());
  if (points.size() < 3) return points;
  Polygon hull;
  const auto chain = [&](auto first, auto last) {
    const size_t start = hull.size();
    for (auto p = first; p != last; ++p) {
      while (hull.size() >= start + 2 && cross(hull[hull.size() - 2], hull.back(), *p) <= 0)
        hull.pop_back();
      hull.push_back(*p);
    }
    hull.pop_back();  // the next chain begins with it
  };
  chain(points.begin(), points.end());
  chain(points.rbegin(), points.rend());
  return hull;
}

Quad ordered(Quad corners) {
  std::stable_sort(corners.begin(), corners.end(), [](Point a, Point b) { return a.x < b.x; });
  if (corners[1].y < corners[0].y) std::swap(corners[0], corners[1]);
  if (corners[3].y < corners[2].y) std::swap(corners[2], corners[3]);
  return {corners[0], corners[2], corners[3], corners[1]};
}

Rectangle min_area_rectangle(std::vector<Point> points) {
  const Polygon hull = convex_hull(std::move(points));
  Rectangle best{{hull[0], hull[0], hull[0], hull[0]}, 0};
  double smallest = INFINITY;
  for (size_t i = 0; hull.size() > 1 && i < hull.size(); ++i) {
    const Point from = hull[i], to = hull[(i + 1) % hull.size()];
    const double length = std::hypot(double{to.x} - from.x, double{to.y} - from.y);
    const Vector along{(double{to.x} - from.x) / length, (double{to.y} - from.y) / length};
    double low = INFINITY, high = -INFINITY, near = INFINITY, far = -INFINITY;
    for (const Point p : hull) {
      const double x = double{p.x} - from.x, y = double{p.y} - from.y;
      const double u = x * along.x + y * along.y, v = y * along.x - x * along.y;
      low = std::min(low, u), high = std::max(high, u);
      near = std::min(near, v), far = std::max(far, v);
    }
    if ((high - low) * (far - near) >= smallest) continue;
    smallest = (high - low) * (far - near);
    const auto corner = [&](double u, double v) {
      return Point{static_cast<float>(from.x + u * along.x - v * along.y),
                   static_cast<float>(from.y + u * along.y + v * along.x)};
    };
    best.corners = {corner(low, near), corner(high, near), corner(high, far), corner(low, far)};
    best.shorter = static_cast<float>(std::min(high - low, far - near));
  }
  best.corners = ordered(best.corners);
  return best;
}

Polygon offset_rounded(std::span<const Point> polygon, double distance) {
  const Polygon corners = convex_hull({polygon.begin(), polygon.end()});
  const size_t n = corners.size();
  std::vector<Vector> normals(
      n);  // outwards: the hull turns so that the inside is on the left of y-down axes
  for (size_t i = 0; i < n; ++i) {
    const Point a = corners[i], b = corners[(i + 1) % n];
    const double length = std::hypot(double{b.x} - a.x, double{b.y} - a.y);
    if (length > 0) normals[i] = {(double{b.y} - a.y) / length, (double{a.x} - b.x) / length};
  }
  // A round corner is a polyline that stays within a quarter of a pixel of the circle.
  const double sagitta = std::min(0.25, std::abs(distance) * 0.25);
  const double turn = std::min(std::numbers::pi / std::acos(1 - sagitta / std::abs(distance)),
                               std::abs(distance) * std::numbers::pi);
  const double step = 2 * std::numbers::pi / turn;
  Polygon grown;
  const auto push = [&](Point corner, Vector normal) {
    grown.push_back({static_cast<float>(std::round(corner.x + normal.x * distance)),
                     static_cast<float>(std::round(corner.y + normal.y * distance))});
  };
  for (size_t i = 0; i < n; ++i) {
    const Vector before = normals[(i + n - 1) % n], after = normals[i];
    const double sine = std::clamp(before.x * after.y - before.y * after.x, -1.0, 1.0);
    const double cosine = before.x * after.x + before.y * after.y;
    if (std::abs(sine * distance) < 1 && cosine > 0) {
      push(corners[i], before);
      continue;
    }
    const double angle = std::atan2(sine, cosine);
    const int steps = std::max(1, static_cast<int>(std::lround(std::abs(angle) / step)));
    for (int k = 0; k < steps; ++k) {
      const double c = std::cos(k * step), s = std::sin(k * step);
      push(corners[i], {before.x * c - before.y * s, before.x * s + before.y * c});
    }
    push(corners[i], after);
  }
  return grown;
}

double mean_inside(std::span<const float> map, int width, int height, const Quad& corners) {
  // A convex outline: the span of each row runs from its leftmost to its rightmost outline pixel.
  int top = height, bottom = -1;
  std::vector<int> left(static_cast<size_t>(height), width), right(static_cast<size_t>(height), -1);
  const auto mark = [&](int x, int y) {
    if (y < 0 || y >= height) return;
    top = std::min(top, y), bottom = std::max(bottom, y);
    left[static_cast<size_t>(y)] = std::min(left[static_cast<size_t>(y)], std::max(x, 0));
    right[static_cast<size_t>(y)] = std::max(right[static_cast<size_t>(y)], std::min(x, width - 1));
  };
  for (size_t i = 0; i < corners.size(); ++i) {
    Point from = corners[i], to = corners[(i + 1) % corners.size()];
    if (to.x < from.x) std::swap(from, to);
    const int x = static_cast<int>(from.x), y = static_cast<int>(from.y);
    const int dx = static_cast<int>(to.x) - x, dy = static_cast<int>(to.y) - y;
    const int steps = std::max({std::abs(dx), std::abs(dy), 1});
    // The k-th of `steps` towards d; a half counts as not yet there.
    const auto part = [&](int d, int k) {
      const int rounded = (2 * k * std::abs(d) + steps - 1) / (2 * steps);
      return d < 0 ? -rounded : rounded;
    };
    for (int k = 0; k <= steps; ++k) mark(x + part(dx, k), y + part(dy, k));
  }
  double sum = 0;
  int64_t count = 0;
  for (int y = top; y <= bottom; ++y) {
    const float* row = map.data() + static_cast<size_t>(y) * static_cast<size_t>(width);
    for (int x = left[static_cast<size_t>(y)]; x <= right[static_cast<size_t>(y)]; ++x)
      sum += row[x], ++count;
  }
  return count == 0 ? 0 : sum / static_cast<double>(count);
}

}  // namespace hub
