// Style transfer through styletransfer and any-style of the default registry; the pictures
// themselves are the modules' examples.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "tests/error_of.h"
#include "tests/modules/default_module.h"

using namespace hub;

namespace {

Silent silent;

Sample sized(Module& module, int width, int height, const std::string& style = {}) {
  Sample sample = example_sample(module, module.manifest().examples.at(0).input);
  sample.image = resize_pillow(sample.image, width, height, Filter::bicubic);
  sample.text_b = style;
  return sample;
}

}  // namespace

TEST_CASE("styles are chosen by name and weight") {
  const auto module = default_module("styletransfer", silent);
  const auto painted = [&](const std::string& style) {
    return module->task().draw(sized(*module, 63, 41, style), {}).pixels;
  };
  CHECK(painted("") == painted("0"));
  CHECK(painted("7") == painted("7:0.25"));
  CHECK(painted("3:1,12:1") == painted(" 12:5 , 3:5"));
  CHECK(painted("3:1,12:1") != painted("3:1,12:2"));
  for (const char* odd : {"26", "x", "7:", "7:0", "7:-1", "7:nan", "7,", ",", "7:1e9"}) {
    CAPTURE(odd);
    error_of(Code::usage, [&] { painted(odd); });
  }
}

TEST_CASE("painted pictures have the size of the picture, at most 1024") {
  for (const char* name : {"styletransfer", "any-style"}) {
    const auto module = default_module(name, silent);
    const std::vector<Sample> samples{sized(*module, 33, 47), sized(*module, 34, 1200),
                                      sized(*module, 61, 32)};
    std::vector<Image> pictures;
    const auto together = module->task().predict(samples, {.pictures = &pictures});
    REQUIRE(pictures.size() == 3);
    CHECK((pictures[0].width == 33 && pictures[0].height == 47));
    CHECK((pictures[1].width == 32 && pictures[1].height == 1024));
    for (size_t i = 0; i < samples.size(); ++i)
      CHECK(module->task().predict({&samples[i], 1}, {}).at(0) == together[i]);
    const Sample tiny = sized(*module, 31, 40);
    CHECK_THAT(error_of(Code::refused,
                        [&] {
                          module->task().predict({&tiny, 1}, {});
                        }),
               Catch::Contains("31x40 pixels; each side must have 32"));
  }
}

TEST_CASE("any-style wants a second picture") {
  const auto module = default_module("any-style", silent);
  REQUIRE(module->task().second() == InputKind::image);
  Sample sample = sized(*module, 40, 40);
  sample.image_b = {};
  CHECK_THAT(error_of(Code::usage,
                      [&] {
                        module->task().predict({&sample, 1}, {});
                      }),
             Catch::Contains("--second PICTURE"));
}
