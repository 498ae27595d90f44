// Segmentation: the picture stretched to the size of one network that takes channels last; how much
// of it belongs to what the network looks for. preprocess: width, height and pixels.h;
// postprocess: label (of what is found), threshold (from which a pixel counts as part of it).
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "hub/fields.h"
#include "modules/module.h"
#include "modules/pixels.h"

namespace hub {
namespace {

class Segmentation final : public Task {
 public:
  explicit Segmentation(Module& module);
  InputKind input() const override { return InputKind::image; }
  size_t batch() const override { return 4; }
  std::vector<json> predict(std::span<const Sample> samples, const RunOptions& options) override;
  Image draw(const Sample& sample, const json& output) const override;

 private:
  Tensor masks(std::span<const Sample> samples, size_t rows) const;

  Module& module_;
  StretchRule input_;
  std::string label_;
  double threshold_ = 0;
};

Segmentation::Segmentation(Module& module) : module_(module) {
  Fields pre(module.manifest().preprocess, module.manifest().id() + ": preprocess");
  input_ = StretchRule(pre);
  pre.done();

  Fields post(module.manifest().postprocess, module.manifest().id() + ": postprocess");
  label_ = post.text("label");
  threshold_ = post.number("threshold");
  if (!(threshold_ >= 0 && threshold_ < 1)) post.refuse("threshold", "is not from 0 to below 1");
  post.done();
}

/// float32[rows, height, width, 1]: 1 where the thing is, 0 where it is not; numbers for the
/// samples, whatever comes behind them.
Tensor Segmentation::masks(std::span<const Sample> samples, size_t rows) const {
  const auto count = static_cast<int64_t>(rows);
  Tensor pixels(DType::f32, {count, input_.height, input_.width, 3});
  float* to = pixels.data<float>();
  for (const Sample& sample : samples) {
    input_.pixels.put_interleaved(input_.stretched(sample.image), to);
    to += 3 * input_.plane();
  }
  std::fill(to, pixels.data<float>() + pixels.numel(), 0.0F);
  const Tensor masks = module_.network("main").run({pixels}).at(0);
  if (masks.dtype() != DType::f32 ||
      masks.shape() != Shape{count, input_.height, input_.width, 1}) {
    fail(Code::refused, module_.manifest().id(), ": the network gives ", masks.spec().str(),
         ", wanted float32[", rows, ", ", input_.height, ", ", input_.width,
         ", 1], a mask a picture");
  }
  for (size_t i = 0; i < samples.size(); ++i) {
    const float* mask = masks.data<float>() + i * input_.plane();
    if (std::any_of(mask, mask + input_.plane(), [](float v) { return std::isnan(v); }))
      fail(Code::numeric, samples[i].name, ": the network gave a mask that is not a number");
  }
  return masks;
}

std::vector<json> Segmentation::predict(std::span<const Sample> samples, const RunOptions&) {
  const size_t rows = rows_of(module_.network("main"), samples.size());
  std::vector<json> results;
  while (!samples.empty()) {
    const auto some = samples.first(std::min(rows, samples.size()));
    samples = samples.subspan(some.size());
    const Tensor found = masks(some, rows);
    for (size_t i = 0; i < some.size(); ++i) {
      const float* mask = found.data<float>() + i * input_.plane();
      const auto inside =
          std::count_if(mask, mask + input_.plane(), [&](float v) { return v > threshold_; });
      const double share = static_cast<double>(inside) / static_cast<double>(input_.plane());
      json kind = {{"label", label_}, {"share", share}};
      results.push_back({{"classes", json::array({std::move(kind)})}});
    }
  }
  return results;
}

/// The picture with what is not part of the thing dimmed to a quarter. The output does not hold the
/// mask, which would be most of a result nobody reads: the network runs once more.
Image Segmentation::draw(const Sample& sample, const json&) const {
  const Tensor found = masks({&sample, 1}, rows_of(module_.network("main"), 1));
  Image mask{.width = input_.width, .height = input_.height, .channels = 1, .pixels = {}};
  for (const float v : std::span(found.data<float>(), input_.plane()))
    mask.pixels.push_back(static_cast<uint8_t>(std::lround(255 * std::clamp(v, 0.0F, 1.0F))));
  Image picture = sample.image;
  mask = resize_opencv(mask, picture.width, picture.height);
  for (size_t i = 0; i < picture.pixels.size(); ++i) {
    picture.pixels[i] =
        static_cast<uint8_t>((picture.pixels[i] * (255 + 3 * mask.pixels[i / 3]) + 510) / 1020);
  }
  return picture;
}

}  // namespace

std::unique_ptr<Task> make_segmentation(Module& module) {
  return std::make_unique<Segmentation>(module);
}

}  // namespace hub
