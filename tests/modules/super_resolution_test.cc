// Super-resolution through realesrgan-x2 and -x3 of the default registry: tiles, transparency.
#include <catch2/catch.hpp>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "tests/error_of.h"
#include "tests/modules/default_module.h"
#include "tests/modules/media.h"

using namespace hub;

namespace {

Silent silent;

std::unique_ptr<Module> with_tiles(const std::string& name, int tile, int overlap) {
  Installed changed = installed(name);
  changed.manifest.preprocess["tile"] = tile;
  changed.manifest.preprocess["overlap"] = overlap;
  return Module::open(std::move(changed), silent);
}

Sample eye(Module& module, int width, int height) {
  Sample sample = example_sample(module, module.manifest().examples.at(0).input);
  sample.image = resize_pillow(sample.image, width, height, Filter::bicubic);
  return sample;
}

int largest_difference(const Image& a, const Image& b) {
  if (a.pixels.size() != b.pixels.size()) return 256;
  int most = 0;
  for (size_t i = 0; i < a.pixels.size(); ++i)
    most = std::max(most, std::abs(int{a.pixels[i]} - int{b.pixels[i]}));
  return most;
}

}  // namespace

TEST_CASE("tiles give what the whole picture gives") {
  for (const char* name : {"realesrgan-x2", "realesrgan-x3"}) {
    const auto whole = with_tiles(name, 4096, 20);
    const auto tiled = with_tiles(name, 53, 20), careless = with_tiles(name, 16, 0);
    for (const auto& [width, height] : {std::pair{97, 61}, {54, 20}, {53, 120}}) {
      CAPTURE(name, width, height);
      const Sample sample = eye(*whole, width, height);
      const Image wanted = whole->task().draw(sample, {});
      CHECK(largest_difference(tiled->task().draw(sample, {}), wanted) <= 1);
      CHECK(largest_difference(careless->task().draw(sample, {}), wanted) > 5);
    }
  }
}

TEST_CASE("a picture as small as one pixel becomes larger") {
  const auto module = default_module("realesrgan-x3", silent);
  const std::vector<Sample> samples{eye(*module, 1, 1), eye(*module, 7, 2), eye(*module, 1, 9)};
  std::vector<Image> pictures;
  const auto results = module->task().predict(samples, {.pictures = &pictures});
  REQUIRE(pictures.size() == 3);
  for (size_t i = 0; i < samples.size(); ++i) {
    CHECK(pictures[i].width == 3 * samples[i].image.width);
    CHECK(pictures[i].height == 3 * samples[i].image.height);
    CHECK(results[i].at("width") == pictures[i].width);
    CHECK(results[i] == module->task().predict({&samples[i], 1}, {}).at(0));
  }
}

TEST_CASE("transparency is enlarged beside the colours") {
  const auto module = default_module("realesrgan-x2", silent);
  REQUIRE(module->task().alpha() == Alpha::keep);
  Sample sample = eye(*module, 24, 16);
  const Image opaque = module->task().draw(sample, {});
  Image with_alpha{.width = 24, .height = 16, .channels = 4, .pixels = {}};
  for (size_t i = 0; i < size_t{24} * 16; ++i) {
    with_alpha.pixels.insert(
        with_alpha.pixels.end(),
        {sample.image.pixels[3 * i], sample.image.pixels[3 * i + 1], sample.image.pixels[3 * i + 2],
         static_cast<uint8_t>(i % 24 < 12 ? 0 : 200)});
  }
  sample.image = decode_image(encode_png(with_alpha), "a.png", silent, Alpha::keep);
  REQUIRE(sample.image.pixels == with_alpha.pixels);
  const Image got = module->task().draw(sample, {});
  REQUIRE((got.channels == 4 && got.width == 48 && got.height == 32));
  for (size_t i = 0; i < size_t{48} * 32; ++i) {
    for (size_t c = 0; c < 3; ++c) REQUIRE(got.pixels[4 * i + c] == opaque.pixels[3 * i + c]);
    if (i % 48 < 20) REQUIRE(got.pixels[4 * i + 3] == 0);
    if (i % 48 > 28) REQUIRE(got.pixels[4 * i + 3] == 200);
  }
  CHECK(decode_media("rgba_garbage.png", Alpha::keep).channels == 4);
  CHECK(decode_media("gray16.png", Alpha::keep).channels == 3);
}

TEST_CASE("manifests and networks that do not enlarge are refused") {
  error_of(Code::refused, [] { with_tiles("realesrgan-x2", 40, 20)->task(); });
  const auto module = default_module("realesrgan-x2", silent);
  const Sample small = eye(*module, 8, 8);
  Program program = module->program("main");
  program.outputs = {program.inputs.at(0)};
  module->use("main", std::move(program));
  CHECK_THAT(error_of(Code::refused,
                      [&] {
                        module->task().predict({&small, 1}, {});
                      }),
             Catch::Contains("wanted float32[1, 3, 16, 16], a picture"));
  Sample vast = small;
  vast.image.width = vast.image.height = 9000;
  CHECK_THAT(error_of(Code::refused,
                      [&] {
                        module->task().predict({&vast, 1}, {});
                      }),
             Catch::Contains("above the limit"));
}
