// Image classification on the probe: a network that gives the mean of each channel of its input.
#include <catch2/catch.hpp>

#include "base/error.h"
#include "modules/module.h"
#include "tests/modules/media.h"

using namespace hub;

namespace {

const json imagenet = {{"resize", "pillow-bilinear"},
                       {"shorter", 8},
                       {"crop", 8},
                       {"channels", "rgb"},
                       {"mean", {123.675, 116.28, 103.53}},
                       {"scale", {1 / 58.395, 1 / 57.12, 1 / 57.375}}};

Installed probe(const json& changes = json::object()) {
  json manifest = {{"schema", 1},
                   {"name", "probe"},
                   {"version", "1.0.0"},
                   {"task", "image-classification"},
                   {"files", json::array()},
                   {"networks", {{"main", {{"format", "onnx"}, {"file", "probe.onnx"}}}}},
                   {"preprocess", imagenet},
                   {"postprocess", {{"labels", "labels.txt"}, {"softmax", false}}}};
  for (const char* file : {"probe.onnx", "probe_batch1.onnx", "labels.txt"}) {
    manifest["files"].push_back({{"path", file}, {"sha256", std::string(64, '0')}, {"size", 1}});
  }
  manifest.merge_patch(changes);
  return {.manifest = Manifest::parse(manifest.dump()),
          .files = std::make_shared<FolderFiles>(std::string(HUB_SOURCE_DIR) + "/tests/data/probe"),
          .plans = {},
          .installed_at = {},
          .last_used = {}};
}

Silent silent;

std::unique_ptr<Module> open_probe(const json& changes = json::object()) {
  return Module::open(probe(changes), silent);
}

Sample picture(int width, int height, int seed) {
  Sample sample;
  sample.name = "picture " + std::to_string(seed);
  sample.image = Image{.width = width, .height = height, .channels = 3, .pixels = {}};
  for (int i = 0; i < width * height * 3; ++i) {
    sample.image.pixels.push_back(static_cast<uint8_t>(i * (7 + seed) + seed * 31));
  }
  return sample;
}

std::vector<json> predict(Module& module, const std::vector<Sample>& samples, int top = 5) {
  return module.task().predict(samples, {.top = top});
}

double score_of(const json& rows, int index) {
  for (const json& row : rows) {
    if (row.at("index") == index) return row.at("score");
  }
  return -1e9;
}

}  // namespace

TEST_CASE("mean and scale go with the channels as declared (P01)") {
  Sample solid;
  solid.image = decode_media("solid_200_100_50.png");
  const json rgb = predict(*open_probe(), {solid})[0];
  CHECK(rgb[0]["label"] == "red");
  const double wanted_rgb[] = {1.30705, -0.28501, -0.93298};
  for (int i = 0; i < 3; ++i) CHECK(score_of(rgb, i) == Approx(wanted_rgb[i]).margin(1e-4));
  const json bgr = predict(*open_probe({{"preprocess", {{"channels", "bgr"}}}}), {solid})[0];
  const double wanted_bgr[] = {-1.26167, -0.28501, 1.68139};
  for (int i = 0; i < 3; ++i) CHECK(score_of(bgr, i) == Approx(wanted_bgr[i]).margin(1e-4));
}

TEST_CASE("top is bounded by the classes and at least 1 (P02)") {
  const auto module = open_probe({{"postprocess", {{"softmax", true}}}});
  const json rows = predict(*module, {picture(9, 8, 1)}, 10)[0];
  REQUIRE(rows.size() == 3);
  CHECK(score_of(rows, 0) + score_of(rows, 1) + score_of(rows, 2) == Approx(1));
  CHECK((rows[0]["score"] >= rows[1]["score"] && rows[1]["score"] >= rows[2]["score"]));
  CHECK(predict(*module, {picture(9, 8, 1)}, 2)[0].size() == 2);
  for (int top : {0, -1}) {
    CHECK_THROWS_WITH(predict(*module, {picture(9, 8, 1)}, top),
                      Catch::Contains("wanted at least 1"));
  }
}

TEST_CASE("a result does not depend on its neighbours (P03, P04)") {
  std::vector<Sample> samples;
  for (int i = 0; i < 9; ++i) samples.push_back(picture(8 + 5 * i, 30 - 2 * i, i));
  const auto module = open_probe();
  const auto fixed = open_probe({{"networks", {{"main", {{"file", "probe_batch1.onnx"}}}}}});
  const std::vector<json> all = predict(*module, samples);
  CHECK(predict(*fixed, samples) == all);
  for (size_t batch : {1, 4}) {
    std::vector<json> parts;
    for (size_t i = 0; i < samples.size(); i += batch) {
      const auto last = std::min(samples.size(), i + batch);
      for (json& rows : predict(*module, {samples.begin() + i, samples.begin() + last}))
        parts.push_back(rows);
    }
    REQUIRE(parts.size() == all.size());
    for (size_t i = 0; i < all.size(); ++i) CHECK(compare_output(all[i], parts[i], 1e-5) == "");
  }
  CHECK(predict(*module, {}).empty());
}

TEST_CASE("modules that cannot be run say so") {
  CHECK_THROWS_WITH(
      open_probe({{"task", "weather-forecast"}}),
      Catch::Contains("probe@1.0.0 has no run task") && Catch::Contains("'image-classification'"));
  CHECK_THROWS_WITH(open_probe({{"preprocess", {{"croop", 3}}}})->task(),
                    Catch::Contains("probe@1.0.0: preprocess: unknown key 'croop'"));
  CHECK_THROWS_WITH(open_probe({{"postprocess", {{"labels", "none.txt"}}}})->task(),
                    Catch::Contains("none.txt"));
  CHECK_THROWS_WITH(open_probe()->network("second"), Catch::Contains("it has 'main'"));
  const auto other = open_probe({{"postprocess", {{"labels", "probe.onnx"}}}});
  CHECK_THROWS_AS(predict(*other, {picture(9, 8, 1)}), Error);
}

TEST_CASE("examples stand for samples") {
  const auto module = open_probe();
  CHECK(example_sample(*module, {{"text", "a word"}}).text == "a word");
  CHECK_THROWS_WITH(example_sample(*module, {{"file", "labels.txt"}}),
                    Catch::Contains("labels.txt is not an image"));
  CHECK_THROWS_AS(example_sample(*module, {{"file", "../labels.txt"}}), Error);
  CHECK_THROWS_AS(example_sample(*module, {{"url", "x"}}), Error);
}
