// Object detection: PicoDet's decoding and the choice among boxes against the numbers of the
// package (rapid-layout 1.2.1) on made outputs, labels drawn, and the real module's page.
#include "modules/detection.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "modules/draw.h"
#include "tests/modules/default_module.h"

using namespace hub;

namespace {

constexpr int width = 88, height = 72;
constexpr int64_t labels = 3, bins = 8, pictures = 2;

/// Scores within 0 to 1 and logits within 0 to 6 for four levels, two pictures.
std::vector<Tensor> made_outputs() {
  uint32_t state = 1;
  std::vector<Tensor> outputs;
  for (const int64_t last : {labels, 4 * bins}) {
    for (int64_t stride = 8; stride <= 64; stride *= 2) {
      const int64_t cells = (width + stride - 1) / stride * ((height + stride - 1) / stride);
      Tensor tensor(DType::f32, {pictures, cells, last});
      for (int64_t i = 0; i < tensor.numel(); ++i) {
        state = state * 1664525 + 1013904223;
        const float value = static_cast<float>(state >> 8) / (1 << 24);
        tensor.data<float>()[i] = last == labels ? value : 6 * value;
      }
      outputs.push_back(tensor);
    }
  }
  return outputs;
}

DetectionInput input_of(const std::vector<Tensor>& outputs, size_t row = 0) {
  return {outputs, row, width, height, static_cast<size_t>(labels), 0.93};
}

struct Row {
  size_t label;
  float score;
  double box[4];
};

}  // namespace

TEST_CASE("PicoDet is decoded as the package does it") {
  const Row wanted[] = {{2, 0.999713F, {12.128, 0.000, 79.001, 49.500}},
                        {2, 0.999497F, {0.000, 43.270, 58.359, 72.000}},
                        {0, 0.999120F, {0.000, 16.762, 79.648, 72.000}},
                        {1, 0.996845F, {14.767, 15.564, 88.000, 50.909}},
                        {0, 0.996613F, {0.000, 0.000, 46.654, 62.833}},
                        {0, 0.996431F, {48.150, 0.000, 88.000, 49.162}},
                        {1, 0.993378F, {45.925, 27.266, 88.000, 72.000}},
                        {1, 0.993299F, {48.150, 0.000, 88.000, 49.162}},
                        {2, 0.991983F, {0.000, 12.662, 88.000, 72.000}},
                        {2, 0.989683F, {48.543, 0.000, 88.000, 72.000}},
                        {1, 0.987164F, {0.000, 43.270, 58.359, 72.000}},
                        {1, 0.986529F, {0.000, 11.577, 18.721, 47.676}},
                        {2, 0.985246F, {0.000, 0.000, 88.000, 72.000}},
                        {1, 0.958534F, {0.000, 0.000, 46.654, 62.833}},
                        {2, 0.942581F, {0.000, 0.000, 33.710, 58.946}},
                        {2, 0.940535F, {7.365, 0.000, 88.000, 72.000}},
                        {2, 0.931147F, {29.843, 34.293, 88.000, 72.000}}};
  const std::vector<Tensor> outputs = made_outputs();
  CHECK(without_overlaps(decode_picodet(input_of(outputs)), 0.3).size() == 19);
  const auto found = without_overlaps(decode_picodet(input_of(outputs, 1)), 0.3);
  REQUIRE(found.size() == std::size(wanted));
  for (size_t i = 0; i < found.size(); ++i) {
    const Detection& d = found[i];
    INFO(i);
    CHECK(d.label == wanted[i].label);
    CHECK(d.score == Approx(wanted[i].score).margin(1e-6));
    const double box[] = {d.left, d.top, d.right, d.bottom};
    for (int k = 0; k < 4; ++k) {
      CHECK(std::clamp<double>(box[k], 0, k % 2 == 0 ? width : height) ==
            Approx(wanted[i].box[k]).margin(1e-3));
    }
  }
}

TEST_CASE("outputs that are not PicoDet's are refused") {
  const std::vector<Tensor> good = made_outputs();
  std::vector<Tensor> odd(good.begin(), good.end() - 1);
  CHECK_THROWS_WITH(decode_picodet(input_of(odd)), Catch::Contains("7 outputs"));
  CHECK_THROWS_WITH(decode_picodet(input_of({})), Catch::Contains("0 outputs"));
  std::vector<Tensor> swapped = good;
  std::swap(swapped[0], swapped[4]);
  CHECK_THROWS_WITH(decode_picodet(input_of(swapped)), Catch::Contains("where scores of 99 cells"));
  std::vector<Tensor> short_of = good;
  short_of[5] = short_of[6];
  CHECK_THROWS_WITH(decode_picodet(input_of(short_of)), Catch::Contains("where boxes of 30 cells"));
  CHECK_THROWS_AS(decode_picodet(input_of(good, 2)), Error);
  std::vector<Tensor> broken = good;
  broken[4] = Tensor(DType::f32, good[4].shape());
  std::fill_n(broken[4].data<float>(), broken[4].numel(), std::nanf(""));
  CHECK_THROWS_WITH(decode_picodet(input_of(broken)), Catch::Contains("box that is not a number"));
  broken = good;
  broken[3] = Tensor(DType::f32, good[3].shape());
  std::fill_n(broken[3].data<float>(), broken[3].numel(), std::nanf(""));
  CHECK_THROWS_WITH(decode_picodet(input_of(broken)),
                    Catch::Contains("score that is not a number"));
}

TEST_CASE("of overlapping boxes of one label the best stays") {
  const auto box = [](double left, float score, size_t label) {
    return Detection{left, 0, left + 10, 10, score, label};
  };
  const std::vector<Detection> found{box(0, 0.5F, 0), box(2, 0.9F, 0), box(2, 0.7F, 1),
                                     box(8, 0.6F, 0), box(0, 0.9F, 2)};
  const auto kept = without_overlaps(found, 0.5);
  std::vector<std::pair<double, size_t>> got;
  for (const Detection& d : kept) got.emplace_back(d.left, d.label);
  CHECK(got == std::vector<std::pair<double, size_t>>{{2, 0}, {0, 2}, {2, 1}, {8, 0}});
  CHECK(without_overlaps(found, 1).size() == 5);
  CHECK(without_overlaps({}, 0.5).empty());
  const std::vector<Detection> many(500, box(0, 0.5F, 1));
  CHECK(without_overlaps(many, 1).size() == 100);
}

TEST_CASE("labels are drawn within the picture") {
  Image image{.width = 40, .height = 30, .channels = 3, .pixels = {}};
  image.pixels.assign(40 * 30 * 3, 7);
  draw_label(image, 30, 5, "I", {1, 2, 3}, 1);  // no room above: below, and moved to the left
  std::string shown;
  for (int y = 5; y < 14; ++y) {
    for (int x = 30; x < 37; ++x) {
      const uint8_t* p = image.row(y) + 3 * x;
      shown += p[0] == 255 ? '#' : p[0] == 1 ? '.' : ' ';
    }
    shown += '\n';
  }
  CHECK(shown ==
        ".......\n..###..\n...#...\n...#...\n...#...\n...#...\n...#...\n..###..\n.......\n");
  draw_label(image, -5, 400, "far \xe8\xbf\x9c", {1, 2, 3}, 3);
  draw_box(image, -10, -10, 100, 100, {9, 9, 9}, 3);
  draw_box(image, 2, 2, 37, 27, {9, 8, 7}, 1);
  CHECK(std::equal(image.row(2) + 6, image.row(2) + 9, std::vector<uint8_t>{9, 8, 7}.begin()));
}

TEST_CASE("layout-cdla finds the parts of a page as the package does") {
  Silent silent;
  const auto module = default_module("layout-cdla", silent);
  const Example& example = module->manifest().examples.at(0);
  std::vector<Sample> samples{example_sample(*module, example.input)};
  samples.push_back(samples[0]);
  samples.push_back({.name = "white", .text = {}, .image = {}});
  samples[2].image = Image{.width = 30, .height = 500, .channels = 3, .pixels = {}};
  samples[2].image.pixels.assign(30 * 500 * 3, 255);
  const auto results = module->task().predict(samples, {});
  REQUIRE(results.size() == 3);
  CHECK(compare_output(example.output, results[0], example.tolerance) == "");
  CHECK(results[1] == results[0]);
  for (const json& object : results[2].at("objects")) {
    const auto box = object.at("box").get<std::vector<double>>();
    CHECK((box[0] >= 0 && box[1] >= 0 && box[0] + box[2] <= 30 && box[1] + box[3] <= 500));
  }
  const Image drawn = module->task().draw(samples[0], results[0]);
  CHECK(drawn.width == samples[0].image.width);
  CHECK(drawn.pixels != samples[0].image.pixels);
}
