// Boxes from maps; the expected ones are those of RapidOCR 1.4.4 on the same maps.
#include <algorithm>
#include <catch2/catch.hpp>
#include <string_view>

#include "modules/db_postprocess.h"

using namespace hub;

namespace {

struct Map {
  int width, height;
  std::vector<float> values = std::vector<float>(static_cast<size_t>(width) * height);
  void fill(int x0, int y0, int x1, int y1, float value) {
    for (int y = y0; y < y1; ++y) std::fill_n(values.begin() + y * width + x0, x1 - x0, value);
  }
  std::vector<Quad> boxes(int image_width, int image_height) const {
    return text_boxes(values, width, height, image_width, image_height, {});
  }
};

constexpr Quad box(float left, float top, float right, float bottom) {
  return {{{left, top}, {right, top}, {right, bottom}, {left, bottom}}};
}

Polygon corners(const Polygon& outline) {
  Polygon hull = convex_hull(outline);
  std::sort(hull.begin(), hull.end(),
            [](Point a, Point b) { return a.x != b.x ? a.x < b.x : a.y < b.y; });
  return hull;
}

}  // namespace

TEST_CASE("outlines of components and of holes") {
  constexpr int width = 9;
  constexpr std::string_view rows =
      "#....###."
      ".#..#..#."
      "....#.##."
      "....####."
      "........#"
      "##.......";
  std::vector<uint8_t> bitmap;
  for (const char c : rows) bitmap.push_back(c == '#');
  const auto found = outlines(bitmap, width, static_cast<int>(rows.size()) / width);
  REQUIRE(found.size() == 4);
  CHECK(corners(found[0]) == Polygon{{0, 5}, {1, 5}});
  CHECK(corners(found[1]) == Polygon{{4, 1}, {4, 2}, {5, 0}, {5, 3}, {6, 0}, {7, 1}});
  CHECK(corners(found[2]) == Polygon{{4, 1}, {4, 3}, {5, 0}, {7, 0}, {8, 4}});
  CHECK(corners(found[3]) == Polygon{{0, 0}, {1, 1}});
}

TEST_CASE("text boxes in reading order, in pixels of the picture") {
  Map map{96, 64};
  map.fill(50, 8, 80, 16, 0.9f);
  map.fill(6, 12, 36, 20, 0.9f);  // begins a little lower than its neighbour on the right
  map.fill(6, 40, 40, 50, 0.95f);
  map.fill(10, 43, 16, 47, 0);
  map.fill(90, 56, 92, 58, 0.99f);  // too small
  map.fill(60, 28, 90, 36, 0.45f);  // too weak
  for (int i = 0; i < 30; ++i) map.fill(52 + i, 40 + i / 4, 53 + i, 48 + i / 4, 0.9f);
  const std::vector<Quad> wanted{box(2, 14, 62, 50),
                                 box(68, 6, 128, 42),
                                 box(0, 68, 69, 112),
                                 {{{72, 66}, {136, 87}, {129, 123}, {66, 102}}}};
  CHECK(map.boxes(144, 128) == wanted);
}

TEST_CASE("what surrounds a hole, and what stands in it, can be boxes too") {
  Map map{60, 40};
  map.fill(5, 5, 55, 35, 0.9f);
  map.fill(14, 14, 46, 26, 0.2f);
  map.fill(18, 17, 42, 23, 0.9f);
  CHECK(map.boxes(60, 40) ==
        std::vector{box(0, 0, 59, 39), box(7, 7, 53, 33), box(14, 13, 46, 27)});
}

TEST_CASE("maps without text give no boxes") {
  CHECK(Map{32, 32}.boxes(100, 100).empty());
  Map dots{33, 33};
  for (int y = 0; y < 33; y += 3) {
    for (int x = 0; x < 33; x += 3) dots.fill(x, y, x + 1, y + 1, 1);
  }
  CHECK(dots.boxes(33, 33).empty());
}
