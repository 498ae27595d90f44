// Reading pictures with toy networks that know three letters: red is r, green is g, blue is b
// (data/ocr/make.py).
#include <catch2/catch.hpp>
#include <cmath>

#include "modules/module.h"
#include "tests/error_of.h"

using namespace hub;

namespace {

Silent silent;

Installed toy(const json& changes = json::object()) {
  json manifest = {{"schema", 1},
                   {"name", "toy"},
                   {"version", "1.0.0"},
                   {"task", "ocr"},
                   {"preprocess",
                    {{"channels", "bgr"},
                     {"mean", {127.5, 127.5, 127.5}},
                     {"scale", {1 / 127.5, 1 / 127.5, 1 / 127.5}},
                     {"detect", {{"shorter", 64}, {"multiple", 32}}},
                     {"classify", {{"width", 48}, {"height", 16}}},
                     {"recognise", {{"width", 64}, {"height", 16}}}}},
                   {"postprocess",
                    {{"characters", "keys.txt"},
                     {"threshold", 0.3},
                     {"box_threshold", 0.5},
                     {"unclip", 1.6},
                     {"turn_threshold", 0.9},
                     {"text_threshold", 0.5}}}};
  for (const std::string network : {"detect", "classify", "recognise"}) {
    manifest["networks"][network] = {{"format", "onnx"}, {"file", network + ".onnx"}};
  }
  for (const char* file : {"detect.onnx", "classify.onnx", "recognise.onnx", "keys.txt"}) {
    manifest["files"].push_back({{"path", file}, {"sha256", std::string(64, '0')}, {"size", 1}});
  }
  manifest.merge_patch(changes);
  return {.manifest = Manifest::parse(manifest.dump()),
          .files = std::make_shared<FolderFiles>(std::string(HUB_SOURCE_DIR) + "/tests/data/ocr"),
          .plans = {},
          .installed_at = {},
          .last_used = {}};
}

struct Block {
  int left, top, right, bottom;
  uint32_t colour;
};
constexpr uint32_t red = 0xFF0000, green = 0x00FF00, blue = 0x0000FF, white = 0xFFFFFF;

Sample black_with(int width, int height, const std::vector<Block>& blocks) {
  Sample sample{"picture", {}, {width, height, 3, {}}};
  sample.image.pixels.resize(static_cast<size_t>(width) * height * 3);
  for (const Block& block : blocks) {
    for (int y = block.top; y < block.bottom; ++y) {
      for (int x = block.left; x < block.right; ++x) {
        uint8_t* pixel = sample.image.row(y) + 3 * x;
        for (int c = 0; c < 3; ++c) pixel[c] = static_cast<uint8_t>(block.colour >> (16 - 8 * c));
      }
    }
  }
  return sample;
}

json lines_of(Module& module, const Sample& sample) {
  return module.task().predict(std::span(&sample, 1), {})[0].at("lines");
}

std::vector<std::string> texts(const json& lines) {
  std::vector<std::string> texts;
  for (const json& line : lines) texts.push_back(line.at("text"));
  return texts;
}

/// Whether the polygon stands around the block, with at most `margin` pixels more on each side.
bool around(const json& line, const Block& block, double margin) {
  const auto p = line.at("polygon").get<std::vector<std::array<double, 2>>>();
  const auto within = [&](double got, double inner, double sign) {
    return sign * (got - inner) >= 0 && sign * (got - inner) <= margin;
  };
  return p.size() == 4 && within(p[0][0], block.left, -1) && within(p[0][1], block.top, -1) &&
         within(p[1][0], block.right, 1) && within(p[1][1], block.top, -1) &&
         within(p[2][0], block.right, 1) && within(p[2][1], block.bottom, 1) &&
         within(p[3][0], block.left, -1) && within(p[3][1], block.bottom, 1);
}

}  // namespace

TEST_CASE("lines are found, turned upright and read, in reading order") {
  const auto module = Module::open(toy(), silent);
  const Sample sample = black_with(200, 140,
                                   {{20, 20, 60, 32, red},
                                    {60, 20, 100, 32, green},  // rg
                                    {150, 20, 162, 70, red},
                                    {150, 70, 162, 120, blue},  // rb, downwards
                                    {20, 60, 60, 72, blue},
                                    {60, 60, 100, 72, red},        // rb on its head
                                    {20, 100, 100, 112, white}});  // nothing legible
  const json lines = lines_of(*module, sample);
  REQUIRE(texts(lines) == std::vector<std::string>{"rg", "rb", "rb"});
  CHECK(around(lines[0], {20, 20, 100, 32, 0}, 10));
  CHECK(around(lines[1], {150, 20, 162, 120, 0}, 10));
  CHECK(around(lines[2], {20, 60, 100, 72, 0}, 10));
  for (const json& line : lines) CHECK((line.at("score") > 0.5 && line.at("score") <= 1));
}

TEST_CASE("more lines than a batch keep their places") {
  const auto module = Module::open(toy(), silent);
  std::vector<Block> blocks;
  std::vector<std::string> wanted;
  for (int i = 0; i < 9; ++i) {
    const int top = 20 + 40 * i, middle = 70 + 15 * ((i * 4) % 9);
    blocks.push_back({20, top, middle, top + 12, red});
    blocks.push_back({middle, top, 2 * middle - 20, top + 12, i % 3 ? green : blue});
    wanted.push_back(i % 3 ? "rg" : "rb");
  }
  CHECK(texts(lines_of(*module, black_with(400, 400, blocks))) == wanted);
}

TEST_CASE("pictures of unusual sizes give places in the original") {
  const auto module = Module::open(toy(), silent);
  struct Row {
    int width, height;
    Block left, right;
    double margin;
  };
  const Row row = GENERATE(
      Row{900, 40, {300, 14, 340, 26, red}, {340, 14, 380, 26, blue}, 14},              // a strip
      Row{3000, 2600, {900, 900, 1200, 1000, red}, {1200, 900, 1500, 1000, blue}, 90},  // reduced
      Row{60, 24, {10, 8, 30, 16, red}, {30, 8, 50, 16, blue}, 10},                     // enlarged
      Row{100, 900, {10, 400, 50, 412, red}, {50, 400, 90, 412, blue}, 14});            // a tower
  INFO(row.width << "x" << row.height);
  const json lines = lines_of(*module, black_with(row.width, row.height, {row.left, row.right}));
  REQUIRE(texts(lines) == std::vector<std::string>{"rb"});
  CHECK(around(lines[0], {row.left.left, row.left.top, row.right.right, row.right.bottom, 0},
               row.margin));
}

TEST_CASE("a picture without text has no lines") {
  const auto module = Module::open(toy(), silent);
  for (const auto& [width, height] : {std::pair(1, 1), {50, 50}, {4000, 1}, {1, 4000}}) {
    CHECK(lines_of(*module, black_with(width, height, {})).empty());
  }
}

TEST_CASE("lines are drawn around the text and nothing else is touched") {
  const auto module = Module::open(toy(), silent);
  const Sample sample = black_with(40, 30, {});
  const json output = {
      {"lines",
       {{{"text", "r"}, {"score", 1}, {"polygon", {{5, 5}, {35, 5}, {35, 40}, {5, 40}}}}}}};
  const Image drawn = module->task().draw(sample, output);
  const auto touched = [&](int x, int y) { return drawn.row(y)[3 * x] != 0; };
  REQUIRE((drawn.width == 40 && drawn.height == 30));
  for (int x = 5; x < 37; ++x) CHECK((touched(x, 5) && touched(x, 6) && !touched(x, 4)));
  for (int y = 7; y < 30; ++y)
    CHECK((touched(5, y) && touched(6, y) && touched(36, y) && !touched(20, y)));
}

TEST_CASE("manifests and networks that do not fit are refused by name") {
  const auto refusal = [](const json& changes) {
    return error_of(Code::refused, [&] {
      lines_of(*Module::open(toy(changes), silent), black_with(64, 64, {{10, 20, 50, 32, red}}));
    });
  };
  CHECK_THAT(refusal({{"preprocess", {{"detect", nullptr}}}}),
             Catch::Contains("toy@1.0.0: preprocess: 'detect' is missing"));
  CHECK_THAT(refusal({{"preprocess", {{"detect", {{"longer", 1}}}}}}),
             Catch::Contains("preprocess: detect: unknown key 'longer'"));
  CHECK_THAT(refusal({{"postprocess", {{"unclip", 1e9}}}}),
             Catch::Contains("'unclip' is not within 0 to 10"));
  CHECK_THAT(refusal({{"postprocess", {{"characters", "detect.onnx"}}}}),
             Catch::Contains("toy@1.0.0: detect.onnx: "));
  CHECK_THAT(refusal({{"networks", {{"classify", {{"file", "recognise.onnx"}}}}}}),
             Catch::Contains("network 'classify' gives float32[1, ") &&
                 Catch::Contains("wanted float32[1, 2]"));
}
