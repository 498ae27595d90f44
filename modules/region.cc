#include "modules/region.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/error.h"

namespace hub {
namespace {

/// Within [-pi, pi).
double normal_angle(double angle) {
  constexpr double pi = std::numbers::pi;
  return angle - 2 * pi * std::floor((angle + pi) / (2 * pi));
}

/// Intersection over union of the squares as if they were upright.
double overlap_of(const Region& a, const Region& b) {
  const auto both = [&](double p, double q) {
    return std::max(
        0.0, std::min(p + a.side / 2, q + b.side / 2) - std::max(p - a.side / 2, q - b.side / 2));
  };
  const double shared = both(a.x, b.x) * both(a.y, b.y);
  const double all = a.side * a.side + b.side * b.side - shared;
  return all > 0 ? shared / all : 0;
}

}  // namespace

KeyPoint Region::at(double u, double v) const {
  const double across = (u - 0.5) * side, down = (v - 0.5) * side;
  const double c = std::cos(angle), s = std::sin(angle);
  return {x + c * across - s * down, y + s * across + c * down, {}, {}};
}

Region square_around(const Image& image) {
  return {image.width / 2.0, image.height / 2.0,
          static_cast<double>(std::max(image.width, image.height)), 0};
}

Image cut_out(const Image& image, const Region& region, int size, bool repeat) {
  constexpr int steps = 32;  // places between two pixels that are told apart
  const KeyPoint corner = region.at(0, 0), right = region.at(1, 0), below = region.at(0, 1);
  const size_t channels = static_cast<size_t>(image.channels);
  Image out{size, size, image.channels, {}};
  out.pixels.resize(static_cast<size_t>(size) * size * channels);
  uint8_t* to = out.pixels.data();
  const auto place = [&](double start, double across, double down, int x, int y) {
    const double at = start + (across - start) * x / size + (down - start) * y / size;
    return static_cast<int>(std::lrint(std::clamp(at, -1e7, 1e7) * steps));
  };
  for (int y = 0; y < size; ++y) {
    for (int x = 0; x < size; ++x, to += channels) {
      const int px = place(corner.x, right.x, below.x, x, y);
      const int py = place(corner.y, right.y, below.y, x, y);
      const int left = px >> 5, top = py >> 5, part_x = px & 31, part_y = py & 31;
      std::array<int, 4> sums{};
      for (int k = 0; k < 4; ++k) {
        int column = left + (k & 1), row = top + (k >> 1);
        const bool outside = column < 0 || column >= image.width || row < 0 || row >= image.height;
        if (outside && !repeat) continue;
        column = std::clamp(column, 0, image.width - 1);
        row = std::clamp(row, 0, image.height - 1);
        const int weight =
            ((k & 1) != 0 ? part_x : steps - part_x) * ((k >> 1) != 0 ? part_y : steps - part_y);
        const uint8_t* pixel = image.row(row) + static_cast<size_t>(column) * channels;
        for (size_t c = 0; c < channels; ++c) sums[c] += weight * pixel[c];
      }
      for (size_t c = 0; c < channels; ++c)
        to[c] = static_cast<uint8_t>((sums[c] + steps * steps / 2) / (steps * steps));
    }
  }
  return out;
}

RegionRule::RegionRule(Fields& fields)
    : box_(fields.choice("around", {"box", "points"}) == "box"),
      from_(static_cast<size_t>(fields.integer("from", 0, 4096))),
      to_(static_cast<size_t>(fields.integer("to", 0, 4096))),
      most_(static_cast<size_t>(fields.integer("most", 1, 1000))),
      angle_(fields.number("angle") * std::numbers::pi / 180),
      scale_(fields.number("scale")),
      shift_(fields.number("shift", 0)),
      overlap_(fields.number("overlap")) {
  if (!(std::abs(angle_) <= 7)) fields.refuse("angle", "is not within a turn");
  if (!(scale_ > 0 && scale_ <= 100)) fields.refuse("scale", "is not within 0 to 100");
  if (!(std::abs(shift_) <= 10)) fields.refuse("shift", "is not within -10 to 10");
  if (!(overlap_ >= 0 && overlap_ <= 1)) fields.refuse("overlap", "is not within 0 to 1");
}

std::vector<Region> RegionRule::regions(std::span<const Figure> found) const {
  std::vector<Region> all;
  for (const Figure& figure : found.first(std::min(most_, found.size()))) {
    const Region next = region(figure);
    std::erase_if(all, [&](const Region& other) { return overlap_of(other, next) > overlap_; });
    all.push_back(next);
  }
  return all;
}

Region RegionRule::region(const Figure& figure) const {
  if (std::max(from_, to_) >= figure.points.size()) {
    fail(Code::refused, "regions are to be turned by points ", from_, " and ", to_, " of ",
         figure.points.size());
  }
  const KeyPoint &a = figure.points[from_], &b = figure.points[to_];
  Region region;
  region.angle = normal_angle(angle_ - std::atan2(a.y - b.y, b.x - a.x));
  double height = 0;
  if (box_) {
    height = figure.bottom - figure.top;
    region.x = (figure.left + figure.right) / 2;
    region.y = (figure.top + figure.bottom) / 2;
    region.side = std::max(figure.right - figure.left, height);
  } else {
    height = region.side = 2 * std::hypot(b.x - a.x, b.y - a.y);
    region.x = a.x, region.y = a.y;
  }
  region.x -= height * shift_ * std::sin(region.angle);
  region.y += height * shift_ * std::cos(region.angle);
  region.side *= scale_;
  return region;
}

}  // namespace hub
