// Image classification: resize, cut out the middle, normalise, one network; scores with labels out.
// preprocess: shorter (side after the resize), crop, rounding (whose rule for halves, of length and
// place: torchvision or paddle), and pixels.h; postprocess: labels (a file), softmax, multi_label
// (labels that do not exclude each other).
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "hub/fields.h"
#include "modules/labels.h"
#include "modules/pixels.h"

namespace hub {
namespace {

class ImageClassification final : public Task {
 public:
  explicit ImageClassification(Module& module) : module_(module) {
    read_preprocess();
    read_postprocess();
  }

  InputKind input() const override { return InputKind::image; }
  size_t batch() const override { return 8; }

  std::vector<json> predict(std::span<const Sample> samples, const RunOptions& options) override {
    if (options.top < 1) fail(Code::usage, "top is ", options.top, ", wanted at least 1");
    Session& network = module_.network("main");
    const size_t rows = rows_of(network, samples.size());
    std::vector<json> results;
    while (!samples.empty()) {
      const auto some = samples.first(std::min(rows, samples.size()));
      samples = samples.subspan(some.size());
      for (json& result : decode(some, network.run({pixels(some, rows)}), options))
        results.push_back(std::move(result));
    }
    return results;
  }

  std::vector<Tensor> encode(std::span<const Sample> samples) override {
    return {pixels(samples, samples.size())};
  }

  std::vector<json> decode(std::span<const Sample> samples, std::span<const Tensor> outputs,
                           const RunOptions& options) override {
    const Tensor& scores = outputs[0];
    const bool fits = scores.dtype() == DType::f32 && scores.shape().rank() == 2 &&
                      scores.shape()[0] >= static_cast<int64_t>(samples.size()) &&
                      scores.shape()[1] == static_cast<int64_t>(labels_.size());
    if (!fits) {
      fail(Code::refused, module_.manifest().id(), ": the network gives ", scores.spec().str(),
           " for ", samples.size(), " pictures, wanted float32 rows for the ", labels_.size(),
           " labels of the manifest");
    }
    std::vector<json> results;
    for (size_t i = 0; i < samples.size(); ++i) {
      const std::span row(scores.data<float>() + i * labels_.size(), labels_.size());
      results.push_back(multi_label_
                            ? all_labels(labels_, row, samples[i].name)
                            : best_labels(labels_, row, softmax_, options.top, samples[i].name));
    }
    return results;
  }

 private:
  void read_preprocess() {
    Fields fields(module_.manifest().preprocess, module_.manifest().id() + ": preprocess");
    resize_ = read_resizer(fields);
    crop_ = static_cast<int>(fields.integer("crop", 1, 4096));
    shorter_ = static_cast<int>(fields.integer("shorter", crop_, 8192));
    paddle_ = fields.choice("rounding", {"torchvision", "paddle"}, "torchvision") == "paddle";
    pixels_ = PixelRule(fields);
    fields.done();
  }

  void read_postprocess() {
    Fields fields(module_.manifest().postprocess, module_.manifest().id() + ": postprocess");
    labels_ = read_labels(module_, fields.path("labels"));
    softmax_ = fields.boolean("softmax", false);
    multi_label_ = fields.boolean("multi_label", false);
    fields.done();
  }

  /// The middle of the picture, the shorter side of which was made `shorter` pixels.
  Image middle(const Image& image) const {
    const int64_t shorter = std::min(image.width, image.height);
    const auto side = [&](int64_t length) {
      return static_cast<int>(paddle_
                                  ? std::llrint(static_cast<double>(length) * shorter_ / shorter)
                                  : length * shorter_ / shorter);
    };
    const int width = side(image.width), height = side(image.height);
    if (std::max(width, height) > 65'536) {
      fail(Code::refused, "a picture of ", image.width, "x", image.height,
           " is too narrow to be classified");
    }
    const Image small = resize_(image, width, height);
    return crop(small, centered(width), centered(height), crop_, crop_);
  }
  /// Where the middle begins; halves go to the even number, or down as in PaddleClas.
  int centered(int length) const {
    return paddle_ ? (length - crop_) / 2
                   : static_cast<int>(std::nearbyint((length - crop_) / 2.0));
  }

  /// float32[rows, 3, crop, crop]; rows behind the samples are zero.
  Tensor pixels(std::span<const Sample> samples, size_t rows) const {
    const size_t plane = static_cast<size_t>(crop_) * static_cast<size_t>(crop_);
    Tensor tensor(DType::f32, {static_cast<int64_t>(rows), 3, crop_, crop_});
    float* to = tensor.data<float>();
    for (const Sample& sample : samples) {
      const Image image = within(sample.name, [&] { return middle(sample.image); });
      pixels_.put(image, to, crop_, crop_);
      to += 3 * plane;
    }
    std::fill(to, tensor.data<float>() + tensor.numel(), 0.0F);
    return tensor;
  }

  Module& module_;
  Resizer resize_ = nullptr;
  PixelRule pixels_;
  int shorter_ = 0, crop_ = 0;
  bool paddle_ = false, softmax_ = false, multi_label_ = false;
  std::vector<std::string> labels_;
};

}  // namespace

std::unique_ptr<Task> make_image_classification(Module& module) {
  return std::make_unique<ImageClassification>(module);
}

}  // namespace hub
