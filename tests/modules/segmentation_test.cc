// Segmentation through selfie-segmentation of the default registry: the mask against MediaPipe
// 0.10.14's own (given the picture at 256x256 as OpenCV resizes it, every 8th number from the 4th).
#include <catch2/catch.hpp>
#include <cmath>
#include <nlohmann/json.hpp>

#include "hub/fields.h"
#include "modules/pixels.h"
#include "tests/modules/default_module.h"

using namespace hub;

namespace {

Silent silent;

Sample astronaut(Module& module) {
  return example_sample(module, module.manifest().examples.at(0).input);
}

Sample cut(const Sample& from, int left, int top, int width, int height) {
  Sample sample{.name = "part", .text = {}, .image = {}};
  sample.image = crop(from.image, left, top, width, height);
  return sample;
}

}  // namespace

TEST_CASE("the mask of a person is MediaPipe's") {
  const auto module = default_module("selfie-segmentation", silent);
  Fields fields(module->manifest().preprocess, "preprocess");
  Tensor x(DType::f32, {1, 256, 256, 3});
  PixelRule(fields).put_interleaved(resize_opencv(astronaut(*module).image, 256, 256),
                                    x.data<float>());
  const Tensor got = module->network("main").run({x}).at(0);
  REQUIRE(got.shape() == Shape{1, 256, 256, 1});
  const Tensor wanted = read_npy(MappedFile::open(std::string(HUB_SOURCE_DIR) +
                                                  "/tests/data/segmentation/astronaut_mask.npy"));
  REQUIRE(wanted.shape() == Shape{32, 32});
  float worst = 0;
  for (int64_t i = 0; i < wanted.numel(); ++i) {
    const int64_t at = (i / 32 * 8 + 4) * 256 + i % 32 * 8 + 4;
    worst = std::max(worst, std::fabs(got.data<float>()[at] - wanted.data<float>()[i]));
  }
  CHECK(worst < 2e-4F);
}

TEST_CASE("shares are the package's, and do not depend on neighbours") {
  const auto module = default_module("selfie-segmentation", silent);
  const Sample whole = astronaut(*module);
  const std::vector<Sample> samples{whole, cut(whole, 0, 0, 512, 40), cut(whole, 150, 10, 151, 300),
                                    whole, cut(whole, 7, 7, 1, 1)};
  const std::vector<json> together = module->task().predict(samples, {});
  REQUIRE(together.size() == samples.size());
  for (size_t i = 0; i < samples.size(); ++i)
    CHECK(module->task().predict(std::span(samples).subspan(i, 1), {}).at(0) == together[i]);
  const json& first = together[0].at("classes");
  REQUIRE(first.size() == 1);
  CHECK(first[0].at("label") == "person");
  // What MediaPipe's own graph gives for the picture at 256x256; at 512x512 it is 0.5440.
  CHECK(first[0].at("share").get<double>() == Approx(0.5451813).margin(3e-5));
}

TEST_CASE("the picture keeps its size and its person, the ground is dimmed") {
  const auto module = default_module("selfie-segmentation", silent);
  for (const auto& [width, height] : {std::pair{512, 512}, {301, 200}, {40, 470}}) {
    Sample sample = astronaut(*module);
    sample.image = resize_opencv(sample.image, width, height);
    const Image drawn = module->task().draw(sample, module->task().predict({&sample, 1}, {}).at(0));
    REQUIRE((drawn.width == width && drawn.height == height && drawn.channels == 3));
    const auto pixel = [&](const Image& image, double x, double y) {
      return image.row(static_cast<int>(y * height))[3 * static_cast<int>(x * width)];
    };
    CHECK(pixel(drawn, 0.42, 0.25) == pixel(sample.image, 0.42, 0.25));
    CHECK(std::abs(4 * pixel(drawn, 0.65, 0.1) - pixel(sample.image, 0.65, 0.1)) <= 2);
  }
}

TEST_CASE("manifests and networks that are no segmentation are refused") {
  struct Row {
    json preprocess, postprocess;
    const char* why;
  };
  const Row rows[] = {{{}, {{"threshold", 1}}, "'threshold' is not from 0 to below 1"},
                      {{}, {{"label", nullptr}}, "'label' is missing"},
                      {{}, {{"labels", "x"}}, "labels"},
                      {{{"width", 0}}, {}, "'width'"}};
  for (const Row& row : rows) {
    Installed odd = installed("selfie-segmentation");
    if (!row.preprocess.is_null()) odd.manifest.preprocess.merge_patch(row.preprocess);
    if (!row.postprocess.is_null()) odd.manifest.postprocess.merge_patch(row.postprocess);
    const auto module = Module::open(std::move(odd), silent);
    CHECK_THROWS_WITH(module->task(), Catch::Contains(row.why));
  }
  const auto module = default_module("selfie-segmentation", silent);
  Program program = module->program("main");
  program.outputs = {program.inputs.at(0)};
  module->use("main", std::move(program));
  const Sample sample = astronaut(*module);
  CHECK_THROWS_WITH(module->task().predict({&sample, 1}, {}), Catch::Contains("a mask a picture"));
}
