// The two forms of PP-OCRv4 in the default registry, ONNX and Paddle programs: the same numbers,
// the same text, and the right ones.
#include <catch2/catch.hpp>
#include <cmath>

#include "base/file.h"
#include "modules/image.h"
#include "tests/modules/default_module.h"

namespace hub {
namespace {

const std::string data = std::string(HUB_SOURCE_DIR) + "/tests/data/ocr/";
const std::string example =
    std::string(HUB_SOURCE_DIR) + "/registry/ppocr-v4/examples/ocr_zh_en.png";

Image picture(const std::string& path) {
  Silent silent;
  return decode_image(read_file(path), path, silent);
}

/// [1, 3, H, W], blue first, in [-1, 1].
Tensor prepared(const std::string& path, int width, int height) {
  const Image image = resize_opencv(picture(path), width, height);
  Tensor t(DType::f32, {1, 3, height, width});
  for (int c = 0; c < 3; ++c) {
    for (int i = 0; i < width * height; ++i) {
      t.data<float>()[c * width * height + i] =
          static_cast<float>(image.pixels[3 * i + 2 - c]) / 127.5F - 1;
    }
  }
  return t;
}

struct Golden {
  std::string path;
  std::vector<std::pair<std::string, double>>
      lines;  ///< text and score, by onnxruntime and the package's own code
};

}  // namespace

TEST_CASE("both forms of every network give the same numbers") {
  Silent silent;
  const auto onnx = default_module("ppocr-v4", silent);
  const auto paddle = default_module("ppocr-v4-paddle", silent);
  for (const std::string& path :
       {example, data + "page.png", data + "ocr_line.png", data + "ocr_line_180.png"}) {
    for (const auto& [network, width, height] :
         {std::tuple("detect", 640, 224), std::tuple("classify", 192, 48),
          std::tuple("recognise", 420, 48)}) {
      INFO(network << " " << path);
      const Tensor x = prepared(path, width, height);
      const Tensor a = onnx->network(network).run({x}).at(0);
      const Tensor b = paddle->network(network).run({x}).at(0);
      REQUIRE(a.shape() == b.shape());
      double worst = 0;
      for (int64_t i = 0; i < a.numel(); ++i) {
        worst = std::max(worst,
                         std::fabs(static_cast<double>(a.data<float>()[i]) - b.data<float>()[i]));
      }
      CHECK(worst < 5e-4);
    }
  }
}

TEST_CASE("both forms read the golden pictures") {
  const std::vector<Golden> goldens = {
      {example,
       {{"百度是一家高科技公司", 0.99799},
        {"飞桨模型库PaddleHub2024", 0.98475},
        {"Deep learning on the edge", 0.95942}}},
      {data + "page.png",
       {{"Region-basedsegmentation", 0.99598},
        {"Let us first determine markers of the coins and the", 0.93109},
        {"background.These markers are pixels that we can label", 0.95773},
        {"unambiguously as either object or background.Here,", 0.95398},
        {"histogram ofgreyvalues:", 0.97065}}}};
  for (const char* name : {"ppocr-v4", "ppocr-v4-paddle"}) {
    Silent silent;
    const auto module = default_module(name, silent);
    for (const Golden& golden : goldens) {
      INFO(name << " " << golden.path);
      Sample sample{golden.path, "", picture(golden.path)};
      const json lines = module->task().predict({&sample, 1}, {}).at(0)["lines"];
      REQUIRE(lines.size() == golden.lines.size());
      for (size_t i = 0; i < lines.size(); ++i) {
        CHECK(lines[i]["text"] == golden.lines[i].first);
        CHECK(std::fabs(lines[i]["score"].get<double>() - golden.lines[i].second) < 2e-3);
      }
    }
  }
}

}  // namespace hub
