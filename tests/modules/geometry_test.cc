// The numbers come from OpenCV 5.0, Clipper 6 and RapidOCR 1.4.4 (box_score_fast).
#include "modules/geometry.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

using namespace hub;

namespace {

void check_near(const Quad& got, const Quad& wanted) {
  for (size_t i = 0; i < 4; ++i) {
    INFO("corner " << i << ": " << got[i].x << ", " << got[i].y);
    CHECK(std::hypot(got[i].x - wanted[i].x, got[i].y - wanted[i].y) < 1e-4);
  }
}

Polygon sorted(Polygon points) {
  std::sort(points.begin(), points.end(),
            [](Point a, Point b) { return a.x != b.x ? a.x < b.x : a.y < b.y; });
  return points;
}

Image picture() {
  Image image{8, 6, 3, {}};
  for (int y = 0; y < 6; ++y) {
    for (int x = 0; x < 8; ++x) {
      for (const int v : {x * 37 + y * 11, x * y * 13, 255 - x * 20 - y * 9}) {
        image.pixels.push_back(static_cast<uint8_t>(v));
      }
    }
  }
  return image;
}

std::vector<int> channel(const Image& image, size_t c) {
  std::vector<int> values;
  for (size_t i = c; i < image.pixels.size(); i += 3) values.push_back(image.pixels[i]);
  return values;
}

}  // namespace

TEST_CASE("a hull keeps corners only") {
  const Polygon hull =
      convex_hull({{2, 2}, {0, 0}, {4, 0}, {2, 0}, {4, 4}, {0, 4}, {1, 3}, {0, 0}});
  CHECK(sorted(hull) == Polygon{{0, 0}, {0, 4}, {4, 0}, {4, 4}});
  CHECK(area(hull) == 16);
  CHECK(perimeter(hull) == 16);
  CHECK(convex_hull({{1, 1}, {1, 1}}) == Polygon{{1, 1}});
  CHECK(sorted(convex_hull({{3, 3}, {1, 1}, {2, 2}})) == Polygon{{1, 1}, {3, 3}});
}

TEST_CASE("the smallest rectangle around points") {
  struct Row {
    Polygon points;
    Quad corners;
    float shorter;
  };
  const Row row = GENERATE(
      Row{{{2, 3}, {12, 3}, {12, 8}, {2, 8}, {5, 5}}, {{{2, 3}, {12, 3}, {12, 8}, {2, 8}}}, 5},
      Row{{{10, 10}, {42, 18}, {40, 26}, {8, 17}, {20, 14}},
          {{{9.764708f, 9.941176f}, {42, 18}, {40, 26}, {7.764708f, 17.941175f}}},
          8.246211f},
      Row{{{0, 4}, {4, 0}, {9, 5}, {5, 9}}, {{{4, 0}, {9, 5}, {5, 9}, {0, 4}}}, 5.656854f},
      Row{{{3, 3}, {7, 5}}, {{{3, 3}, {7, 5}, {7, 5}, {3, 3}}}, 0},
      Row{{{4, 4}}, {{{4, 4}, {4, 4}, {4, 4}, {4, 4}}}, 0});
  const Rectangle rectangle = min_area_rectangle(row.points);
  check_near(rectangle.corners, row.corners);
  CHECK(rectangle.shorter == Approx(row.shorter).margin(1e-5));
}

TEST_CASE("a polygon grows with round corners") {
  const Polygon level = offset_rounded(Polygon{{10, 10}, {40, 10}, {40, 20}, {10, 20}}, 4.3);
  CHECK(sorted(convex_hull(level)) == Polygon{{6, 10},
                                              {6, 20},
                                              {7, 7},
                                              {7, 23},
                                              {10, 6},
                                              {10, 24},
                                              {40, 6},
                                              {40, 24},
                                              {43, 7},
                                              {43, 23},
                                              {44, 10},
                                              {44, 20}});
  const Polygon slanted = offset_rounded(Polygon{{10, 10}, {40, 16}, {38, 26}, {8, 20}}, 3);
  CHECK(sorted(convex_hull(slanted)) == Polygon{{5, 19},
                                                {5, 22},
                                                {7, 9},
                                                {7, 23},
                                                {8, 7},
                                                {11, 7},
                                                {37, 29},
                                                {40, 29},
                                                {41, 13},
                                                {41, 27},
                                                {43, 14},
                                                {43, 17}});
}

TEST_CASE("the mean inside a quadrilateral counts its outline") {
  constexpr int width = 16, height = 12;
  std::vector<float> map;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) map.push_back(static_cast<float>((3 * x + 7 * y) % 11) / 10);
  }
  const auto mean = [&](const Quad& quad) { return mean_inside(map, width, height, quad); };
  CHECK(mean({{{1, 2}, {12, 2}, {12, 9}, {1, 9}}}) == Approx(0.4947916688));
  CHECK(mean({{{2.6f, 1.2f}, {14.4f, 4.9f}, {12.7f, 10.1f}, {0.9f, 6.4f}}}) ==
        Approx(0.4860215066));
  CHECK(mean({{{-3, -2}, {5, -2}, {5, 3}, {-3, 3}}}) == Approx(0.4708333357));
  CHECK(mean({{{20, 20}, {30, 20}, {30, 25}, {20, 25}}}) == 0);
}

TEST_CASE("a slanted box is cut out upright") {
  const Image cut = warp(picture(), {{{1, 1}, {6, 2}, {5, 5}, {1, 4}}}, 5, 3);
  CHECK(channel(cut, 0) ==
        std::vector{48, 84, 122, 160, 201, 61, 94, 128, 164, 201, 72, 102, 135, 170, 222});
  CHECK(channel(cut, 1) ==
        std::vector{13, 31, 53, 78, 111, 28, 56, 89, 124, 181, 41, 77, 117, 202, 144});
  CHECK(channel(cut, 2) ==
        std::vector{226, 206, 185, 164, 141, 215, 197, 178, 158, 137, 206, 189, 171, 152, 132});
  const Image border = warp(picture(), {{{5, 3}, {7, 3}, {7, 5}, {5, 5}}}, 4, 4);
  CHECK(channel(border, 0) ==
        std::vector{218, 255, 255, 149, 224, 190, 132, 78, 229, 120, 10, 8, 236, 112, 0, 0});
}

TEST_CASE("quarter turns") {
  const Image image{3, 2, 1, {1, 2, 3, 4, 5, 6}};
  const Image left = turned_left(image);
  CHECK((left.width == 2 && left.height == 3));
  CHECK(left.pixels == std::vector<uint8_t>{3, 6, 2, 5, 1, 4});
  CHECK(turned_over(image).pixels == std::vector<uint8_t>{6, 5, 4, 3, 2, 1});
  CHECK(turned_over(picture()).pixels == turned_left(turned_left(picture())).pixels);
}
