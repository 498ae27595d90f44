// Threshold, dilation, outlines, smallest rectangles, growth: the boxes agree with those of
// RapidOCR 1.4.4.
#include "modules/db_postprocess.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace hub {

namespace {

constexpr size_t max_boxes = 1000;
constexpr float min_side = 3;

/// Pixels above the threshold, grown by one to the right and down.
std::vector<uint8_t> text_pixels(std::span<const float> map, int width, int height,
                                 double threshold) {
  std::vector<uint8_t> set(map.size());
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const size_t i = static_cast<size_t>(y) * width + x;
      if (!(map[i] > threshold)) continue;
      set[i] = 1;
      if (x + 1 < width) set[i + 1] = 1;
      if (y + 1 < height) set[i + width] = 1;
      if (x + 1 < width && y + 1 < height) set[i + width + 1] = 1;
    }
  }
  return set;
}

/// Pixels [begin, end) of row y, all set or all clear, as wide as possible.
struct Run {
  int y, begin, end;
  bool set;
};

/// Sets of runs that touch each other.
class Components {
 public:
  explicit Components(size_t size) : parent_(size) {
    std::iota(parent_.begin(), parent_.end(), size_t{0});
  }
  /// The smallest number in the set of i.
  size_t find(size_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  void join(size_t a, size_t b) {
    a = find(a), b = find(b);
    parent_[std::max(a, b)] = std::min(a, b);
  }

 private:
  std::vector<size_t> parent_;
};

/// The runs of a bitmap with one clear pixel all around, which is run 0 and belongs to no hole.
std::vector<Run> runs_of(std::span<const uint8_t> bitmap, int width, int height) {
  std::vector<Run> runs{{-1, -1, width + 1, false}};
  for (int y = 0; y < height; ++y) {
    const uint8_t* row = bitmap.data() + static_cast<size_t>(y) * width;
    runs.push_back({y, -1, 0, false});
    for (int x = 0; x < width; ++x) {
      if ((row[x] != 0) == runs.back().set)
        runs.back().end = x + 1;
      else
        runs.push_back({y, x, x + 1, row[x] != 0});
    }
    if (runs.back().set) runs.push_back({y, width, width, false});
    runs.back().end = width + 1;
  }
  runs.push_back({height, -1, width + 1, false});
  return runs;
}

Components components_of(const std::vector<Run>& runs) {
  Components components(runs.size());
  size_t above = 0;
  for (size_t i = 1; i < runs.size(); ++i) {
    const Run& run = runs[i];
    while (runs[above].y < run.y - 1 || (runs[above].y == run.y - 1 && runs[above].end < run.begin))
      ++above;
    for (size_t j = above; j < i && runs[j].y == run.y - 1 && runs[j].begin <= run.end; ++j) {
      if (runs[j].set != run.set) continue;
      const bool overlap = runs[j].begin < run.end && runs[j].end > run.begin;
      if (run.set || overlap) components.join(i, j);
    }
  }
  return components;
}

Quad scaled(const Quad& quad, int width, int height, int image_width, int image_height) {
  Quad out;
  for (size_t i = 0; i < quad.size(); ++i) {
    const float x =
        std::nearbyint(quad[i].x / static_cast<float>(width) * static_cast<float>(image_width));
    const float y =
        std::nearbyint(quad[i].y / static_cast<float>(height) * static_cast<float>(image_height));
    out[i] = {std::clamp(x, 0.0f, static_cast<float>(image_width)),
              std::clamp(y, 0.0f, static_cast<float>(image_height))};
  }
  out = ordered(out);
  for (Point& p : out) {
    p = {std::min(p.x, static_cast<float>(image_width - 1)),
         std::min(p.y, static_cast<float>(image_height - 1))};
  }
  return out;
}

void sort_for_reading(std::vector<Quad>& boxes) {
  std::stable_sort(boxes.begin(), boxes.end(), [](const Quad& a, const Quad& b) {
    return a[0].y != b[0].y ? a[0].y < b[0].y : a[0].x < b[0].x;
  });
  for (size_t i = 1; i < boxes.size(); ++i) {
    for (size_t j = i; j > 0; --j) {
      const Point here = boxes[j][0], before = boxes[j - 1][0];
      if (std::abs(here.y - before.y) >= 10 || here.x >= before.x) break;
      std::swap(boxes[j], boxes[j - 1]);
    }
  }
}

}  // namespace

std::vector<Polygon> outlines(std::span<const uint8_t> bitmap, int width, int height) {
  const std::vector<Run> runs = runs_of(bitmap, width, height);
  Components components = components_of(runs);
  std::vector<Polygon> found;
  std::vector<size_t> place(runs.size());  // of the component that begins with this run
  for (size_t i = 0; i < runs.size(); ++i) {
    const size_t root = components.find(i);
    if (root == 0) continue;
    if (root == i) {
      place[i] = found.size();
      found.emplace_back();
    }
    Polygon& points = found[place[root]];
    const float y = static_cast<float>(runs[i].y);
    const float first = static_cast<float>(runs[i].begin),
                last = static_cast<float>(runs[i].end - 1);
    if (runs[i].set) {
      points.insert(points.end(), {{first, y}, {last, y}});
    } else {
      points.insert(points.end(), {{first - 1, y},
                                   {last + 1, y},
                                   {first, y - 1},
                                   {last, y - 1},
                                   {first, y + 1},
                                   {last, y + 1}});
    }
  }
  std::reverse(found.begin(), found.end());
  return found;
}

std::vector<Quad> text_boxes(std::span<const float> map, int width, int height, int image_width,
                             int image_height, const DbOptions& options) {
  std::vector<Polygon> candidates =
      outlines(text_pixels(map, width, height, options.threshold), width, height);
  if (candidates.size() > max_boxes) candidates.resize(max_boxes);
  std::vector<Quad> boxes;
  for (Polygon& candidate : candidates) {
    const Rectangle tight = min_area_rectangle(std::move(candidate));
    if (tight.shorter < min_side ||
        mean_inside(map, width, height, tight.corners) < options.box_score)
      continue;
    const double growth = area(tight.corners) * options.unclip / perimeter(tight.corners);
    Quad whole = tight.corners;
    for (Point& p : whole) p = {std::trunc(p.x), std::trunc(p.y)};
    const Rectangle grown = min_area_rectangle(offset_rounded(whole, growth));
    if (grown.shorter < min_side + 2) continue;
    const Quad box = scaled(grown.corners, width, height, image_width, image_height);
    if (static_cast<int>(distance(box[0], box[1])) <= min_side ||
        static_cast<int>(distance(box[0], box[3])) <= min_side)
      continue;
    boxes.push_back(box);
  }
  sort_for_reading(boxes);
  return boxes;
}

}  // namespace hub
