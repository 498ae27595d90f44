// Edge detection: the whole picture through one network, a picture of how much of an edge each
// place is. preprocess: longest (side; larger pictures are shrunk to it), resize and pixels.h;
// postprocess: threshold (from which a pixel counts as an edge).
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "hub/fields.h"
#include "modules/module.h"
#include "modules/pixels.h"

namespace hub {
namespace {

class EdgeDetection final : public Task {
 public:
  explicit EdgeDetection(Module& module) : module_(module) {
    Fields pre(module.manifest().preprocess, module.manifest().id() + ": preprocess");
    longest_ = static_cast<int>(pre.integer("longest", 16, 8192));
    resize_ = read_resizer(pre);
    pixels_ = PixelRule(pre);
    pre.done();
    Fields post(module.manifest().postprocess, module.manifest().id() + ": postprocess");
    threshold_ = post.number("threshold");
    if (!(threshold_ >= 0 && threshold_ < 1)) post.refuse("threshold", "is not from 0 to below 1");
    post.done();
  }

  InputKind input() const override { return InputKind::image; }

  std::vector<json> predict(std::span<const Sample> samples, const RunOptions&) override {
    std::vector<json> results;
    for (const Sample& sample : samples) {
      const Tensor map = edges(sample);
      const std::span<const float> values = map.values<float>();
      const auto count = static_cast<double>(values.size());
      const auto found =
          std::count_if(values.begin(), values.end(), [&](float v) { return v > threshold_; });
      double sum = 0;
      for (const float v : values) sum += v;
      results.push_back({{"share", static_cast<double>(found) / count}, {"mean", sum / count}});
    }
    return results;
  }

  /// Bright where the edges are. The output does not hold the map, which would be most of a result
  /// nobody reads: the network runs once more.
  Image draw(const Sample& sample, const json&) const override {
    const Tensor map = edges(sample);
    Image picture{.width = static_cast<int>(map.shape()[3]),
                  .height = static_cast<int>(map.shape()[2]),
                  .channels = 3,
                  .pixels = {}};
    for (const float v : map.values<float>())
      picture.pixels.insert(picture.pixels.end(), 3,
                            static_cast<uint8_t>(std::lround(255 * std::clamp(v, 0.0F, 1.0F))));
    const bool shrunk =
        picture.width != sample.image.width || picture.height != sample.image.height;
    return shrunk ? resize_opencv(picture, sample.image.width, sample.image.height) : picture;
  }

 private:
  /// float32[1, 1, height, width], sizes of the picture or, if that is larger, of the shrunk one.
  Tensor edges(const Sample& sample) const {
    const int longer = std::max(sample.image.width, sample.image.height);
    const double ratio = longer > longest_ ? static_cast<double>(longest_) / longer : 1;
    const auto side = [&](int length) {
      return std::max(1, static_cast<int>(std::lround(length * ratio)));
    };
    const int width = side(sample.image.width), height = side(sample.image.height);
    Tensor pixels(DType::f32, {1, 3, height, width});
    pixels_.put(ratio < 1 ? resize_(sample.image, width, height) : sample.image,
                pixels.data<float>(), width, height);
    const Tensor map = module_.network("main").run({pixels}).at(0);
    if (map.dtype() != DType::f32 || map.shape() != Shape{1, 1, height, width}) {
      fail(Code::refused, module_.manifest().id(), ": the network gives ", map.spec().str(),
           ", wanted float32[1, 1, ", height, ", ", width, "], a number a pixel");
    }
    const auto values = map.values<float>();
    if (std::any_of(values.begin(), values.end(), [](float v) { return !std::isfinite(v); }))
      fail(Code::numeric, sample.name, ": the network gave edges that are not numbers");
    return map;
  }

  Module& module_;
  int longest_ = 0;
  Resizer resize_ = nullptr;
  PixelRule pixels_;
  double threshold_ = 0;
};

}  // namespace

std::unique_ptr<Task> make_edge_detection(Module& module) {
  return std::make_unique<EdgeDetection>(module);
}

}  // namespace hub
