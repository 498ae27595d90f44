// Key points: anchors, merged boxes and turned squares against numbers worked out by hand, soft
// strokes, and the modules of the default registry, whose examples hold what MediaPipe 0.10.14 and
// facenet-pytorch 2.6.0 give.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>

#include "modules/anchors.h"
#include "modules/draw.h"
#include "modules/network.h"
#include "modules/region.h"
#include "tests/error_of.h"
#include "tests/modules/default_module.h"

using namespace hub;

namespace {

Silent silent;

Figure box(double left, double top, double right, double bottom, double score) {
  const KeyPoint corner{left, top, {}, {}};
  return {.left = left,
          .top = top,
          .right = right,
          .bottom = bottom,
          .score = score,
          .points = {corner}};
}

/// Every pixel has its own colour.
Image coloured(int width, int height) {
  Image image{width, height, 3, {}};
  for (int i = 0; i < width * height * 3; ++i)
    image.pixels.push_back(static_cast<uint8_t>(i * 37 % 251));
  return image;
}

std::vector<Region> regions_of(const json& rule, std::span<const Figure> found) {
  Fields fields(rule, "region");
  const RegionRule read(fields);
  fields.done();
  return read.regions(found);
}

const json around_points = {{"around", "points"}, {"from", 0}, {"to", 1},       {"angle", 90},
                            {"scale", 1.25},      {"most", 2}, {"overlap", 0.5}};

json with(json rule, const json& change) {
  rule.merge_patch(change);
  return rule;
}

}  // namespace

TEST_CASE("anchors stand in the middle of their cells, grid after grid") {
  struct Row {
    int64_t side;
    std::vector<AnchorGrid> grids;
    size_t count;
  };
  const Row rows[] = {{128, {{8, 2}, {16, 6}}, 896},
                      {192, {{4, 1}}, 2304},
                      {192, {{8, 2}, {16, 6}}, 2016},
                      {224, {{8, 2}, {16, 2}, {32, 6}}, 2254},
                      {20, {{8, 1}}, 9},
                      {128, {}, 0}};
  for (const Row& row : rows) CHECK(anchor_centres(row.side, row.grids).size() == row.count);
  const std::vector<AnchorCentre> centres = anchor_centres(128, rows[0].grids);
  CHECK(centres[1] == AnchorCentre{0.03125F, 0.03125F});
  CHECK(centres[33] == AnchorCentre{0.03125F, 0.09375F});
  CHECK(centres[512] == AnchorCentre{0.0625F, 0.0625F});
  const std::vector<AnchorGrid> many = {{1, 64}};
  CHECK_THAT(error_of(Code::refused, [&] { anchor_centres(1024, many); }),
             Catch::Contains("16384 anchors"));
}

TEST_CASE("boxes are read from where their anchor stands") {
  const std::vector<AnchorGrid> grids = {{50, 1}};
  const AnchorDecoder decoder{anchor_centres(100, grids), 100, 1, 0.5F};
  const std::vector<float> scores = {-1, 200, 3, 3};
  const std::vector<float> boxes = {0, 0, 1,  1, 0, 0, 10, -10, 20, 40, 5, 0,
                                    0, 0, -1, 1, 0, 0, 0,  0,   8,  8,  0, 0};
  const std::vector<Figure> found = decoder.decode(boxes, scores);
  REQUIRE(found.size() == 2);  // one is too unsure, one has no width
  CHECK(found[0].score == 1);
  CHECK(found[0].left == Approx(0.75));
  CHECK(found[0].top == Approx(-0.05));
  CHECK(found[0].right == Approx(0.95));
  CHECK(found[0].bottom == Approx(0.35));
  CHECK(found[0].points.at(0).x == Approx(0.8));
  CHECK(found[0].points.at(0).y == Approx(0.25));
  CHECK(found[1].left == Approx(0.71));
}

TEST_CASE("boxes that overlap the best one become one with it") {
  const std::vector<Figure> found =
      merged({box(20, 0, 30, 10, 0.5), box(1, 1, 11, 11, 0.3), box(0, 0, 10, 10, 0.9)}, 0.3);
  REQUIRE(found.size() == 2);
  CHECK(found[0].score == 0.9);
  CHECK(found[0].left == Approx(0.25));
  CHECK(found[0].bottom == Approx(10.25));
  CHECK(found[0].points.at(0).y == Approx(0.25));
  CHECK(found[1].left == 20);
  CHECK(merged({box(0, 0, 10, 10, 0.9), box(1, 1, 11, 11, 0.3)}, 0.7).size() == 2);
  CHECK(merged({}, 0.3).empty());
  CHECK(merged({box(1, 1, 1, 1, 0.5), box(1, 1, 1, 1, 0.5)}, 0.3).size() == 2);
}

TEST_CASE("a square in a picture is cut out as it lies") {
  const Image image = coloured(8, 8);
  CHECK(cut_out(image, square_around(image), 8, false).pixels == image.pixels);
  const Image turned = cut_out(image, {4, 4, 8, std::numbers::pi / 2}, 8, true);
  for (int y = 1; y < 8; ++y) {  // (x, y) comes from the column 8 - y, row x
    for (int x = 0; x < 8; ++x)
      CHECK(
          std::equal(turned.row(y) + 3 * x, turned.row(y) + 3 * x + 3, image.row(x) + 3 * (8 - y)));
  }
  const Image half = cut_out(image, {4.5, 4, 8, 0}, 8, true);
  CHECK(half.row(2)[3] == (image.row(2)[3] + image.row(2)[6] + 1) / 2);
  CHECK(half.row(2)[21] == image.row(2)[21]);
  CHECK(cut_out(image, {-20, 4, 8, 0}, 8, true).row(3)[0] == image.row(3)[0]);
  const Image black = cut_out(image, {-20, 4, 8, 0}, 8, false);
  CHECK(std::count(black.pixels.begin(), black.pixels.end(), 0) == 192);
  CHECK(cut_out(image, {1e300, -1e300, 1e300, 1}, 2, false).pixels.size() == 12);
}

TEST_CASE("regions follow the points") {
  Figure body{.left = 0, .top = 0, .right = 10, .bottom = 20, .score = 1, .points = {}};
  body.points = {{100, 100, {}, {}}, {100, 60, {}, {}}};  // upright
  Region region = regions_of(around_points, {&body, 1}).at(0);
  CHECK(region.x == 100);
  CHECK(region.side == Approx(100));
  CHECK(region.angle == Approx(0).margin(1e-9));
  body.points[1] = {140, 100, {}, {}};  // lying, the head to the right
  region = regions_of(around_points, {&body, 1}).at(0);
  CHECK(region.angle == Approx(std::numbers::pi / 2));
  const KeyPoint head = region.at(0.5, 0);
  CHECK(head.x == Approx(150));
  CHECK(head.y == Approx(100));

  const json shifted = with(around_points, {{"around", "box"}, {"scale", 2}, {"shift", -0.5}});
  region = regions_of(shifted, {&body, 1}).at(0);
  CHECK(region.side == 40);
  CHECK(region.x == Approx(15));  // half a height towards the head
  CHECK(region.y == Approx(10));

  std::vector<Figure> three(3, body);
  three[1].points[0].x += 1000, three[1].points[1].x += 1000;
  CHECK(regions_of(around_points, three).size() == 2);  // at most two
  three[1] = body;
  CHECK(regions_of(around_points, three).size() == 1);  // the same again
  CHECK_THAT(error_of(Code::refused,
                      [&] {
                        regions_of(with(around_points, {{"to", 2}}), {&body, 1});
                      }),
             Catch::Contains("0 and 2 of 2"));
  for (const json& odd : {json{{"scale", 0}}, json{{"overlap", 2}}, json{{"around", "x"}},
                          json{{"most", 0}}, json{{"angle", 1000}}, json{{"shift", 11}}}) {
    error_of(Code::refused, [&] { regions_of(with(around_points, odd), {}); });
  }
}

TEST_CASE("strokes have soft edges and stay in the picture") {
  Image image{20, 20, 3, std::vector<uint8_t>(1200, 0)};
  const Colour white = {255, 255, 255};
  draw_stroke(image, 10, 10, 10, 10, white, 6);
  CHECK(image.row(10)[30] == 255);
  CHECK((image.row(10)[36] > 0 && image.row(10)[36] < 255));
  CHECK(image.row(10)[42] == 0);
  const double area = std::numbers::pi * 9;
  double sum = 0;
  for (const uint8_t value : image.pixels) sum += value / 765.0;
  CHECK(sum == Approx(area).epsilon(0.02));
  draw_stroke(image, -1e9, 5, 1e9, 5, white, 2);
  CHECK(image.row(5)[0] == 255);
  draw_stroke(image, 0, 0, 19, 19, white, 2);
  CHECK(image.row(16)[48] == 255);
  draw_stroke(image, NAN, 0, 1e300, 3, white, 2);
  draw_stroke(image, 1e6, -1e6, 2e6, 3e6, white, 1e4);
}

TEST_CASE("the stages of MTCNN take their tensors only") {
  for (const char* stage : {"propose", "refine", "output"})
    CHECK_THAT(error_of(Code::refused,
                        [&] {
                          build_network("mtcnn", {}, {{"stage", stage}});
                        }),
               Catch::Contains("'conv1.weight' is missing"));
  error_of(Code::refused, [] { build_network("mtcnn", {}, {{"stage", "other"}}); });
}

TEST_CASE("a picture's key points do not depend on its neighbours") {
  for (const char* name : {"face-mesh", "hand-landmarks", "pose-landmarks", "mtcnn"}) {
    const auto module = default_module(name, silent);
    std::vector<Sample> samples;
    for (const Example& example : module->manifest().examples)
      samples.push_back(example_sample(*module, example.input));
    samples.push_back({.name = "part", .text = {}, .image = {}});
    samples.back().image = crop(samples[0].image, 100, 20, 257, 31);
    const std::vector<json> together = module->task().predict(samples, {});
    REQUIRE(together.size() == samples.size());
    for (size_t i = 0; i < samples.size(); ++i) {
      CHECK(module->task().predict(std::span(samples).subspan(i, 1), {}).at(0) == together[i]);
      const Image drawn = module->task().draw(samples[i], together[i]);
      REQUIRE((drawn.width == samples[i].image.width && drawn.height == samples[i].image.height));
      CHECK((drawn.pixels == samples[i].image.pixels) == together[i].at("objects").empty());
    }
  }
}

TEST_CASE("manifests that say no key points are refused") {
  struct Row {
    const char* name;
    json preprocess, postprocess;
    const char* why;
  };
  const Row rows[] = {{"face-mesh", {}, {{"finder", "x"}}, "'finder'"},
                      {"face-mesh", {}, {{"labels", {"a", "b"}}}, "2 words, wanted 1"},
                      {"face-mesh", {}, {{"lines", {{1, -1}}}}, "'lines'"},
                      {"face-mesh", {}, {{"region", nullptr}}, "'region' is missing"},
                      {"face-mesh", {}, {{"points", {{"count", 0}}}}, "'count'"},
                      {"face-mesh", {}, {{"detect", {{"overlap", 2}}}}, "'overlap'"},
                      {"face-mesh", {{"points", {{"size", 1}}}}, {}, "'size'"},
                      {"hand-landmarks", {}, {{"labels", {"a"}}}, "1 words, wanted 2"},
                      {"mtcnn", {{"detect", {{"smallest", 1}}}}, {}, "'smallest'"},
                      {"mtcnn", {}, {{"detect", {{"thresholds", {1, 2}}}}}, "'thresholds'"}};
  for (const Row& row : rows) {
    Installed odd = installed(row.name);
    if (!row.preprocess.is_null()) odd.manifest.preprocess.merge_patch(row.preprocess);
    if (!row.postprocess.is_null()) odd.manifest.postprocess.merge_patch(row.postprocess);
    const auto module = Module::open(std::move(odd), silent);
    CHECK_THROWS_WITH(module->task(), Catch::Contains(row.why));
  }
}

TEST_CASE("networks with other outputs than the manifest says are refused") {
  struct Row {
    json postprocess;
    const char* why;
  };
  const Row rows[] = {{{{"detect", {{"points", 5}}}}, "numbers"},
                      {{{"points", {{"count", 469}}}}, "for each of 469"},
                      {{{"points", {{"heatmap", 1}}}}, "as heatmap"},
                      {{{"points", {{"heatmap", 9}}}}, "wanted number 9"},
                      {{{"region", {{"to", 9}}}}, "0 and 9 of 6"}};
  for (const Row& row : rows) {
    Installed odd = installed("face-mesh");
    odd.manifest.postprocess.merge_patch(row.postprocess);
    const auto module = Module::open(std::move(odd), silent);
    const Sample sample = example_sample(*module, module->manifest().examples.at(0).input);
    CHECK_THROWS_WITH(module->task().predict({&sample, 1}, {}), Catch::Contains(row.why));
  }
}
