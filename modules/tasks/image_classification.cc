// Image classification: resize, cut out the middle, normalise, one network; scores with labels out.
// postprocess: labels (a file), softmax, multi_label (labels that do not exclude each other).
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "hub/fields.h"
#include "modules/labels.h"

namespace hub {
namespace {

struct Resize {
  const char* name;
  Image (*make)(const Image&, int, int);
};
constexpr Resize resizes[] = {
    {"pillow-bilinear",
     [](const Image& i, int w, int h) { return resize_pillow(i, w, h, Filter::bilinear); }},
    {"pillow-bicubic",
     [](const Image& i, int w, int h) { return resize_pillow(i, w, h, Filter::bicubic); }},
    {"pillow-lanczos",
     [](const Image& i, int w, int h) { return resize_pillow(i, w, h, Filter::lanczos); }},
    {"pillow-box",
     [](const Image& i, int w, int h) { return resize_pillow(i, w, h, Filter::box); }},
    {"opencv-bilinear", [](const Image& i, int w, int h) { return resize_opencv(i, w, h); }},
};

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
    const Spec& declared = network.program()[network.program().inputs.at(0)].declared;
    const int64_t fixed = declared.shape.rank() == 4 ? declared.shape[0] : -1;
    const size_t rows =
        fixed > 0 ? static_cast<size_t>(fixed) : std::max<size_t>(samples.size(), 1);
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
    std::vector<std::string> names;
    for (const Resize& resize : resizes) names.emplace_back(resize.name);
    const std::string name = fields.choice("resize", names);
    for (const Resize& resize : resizes) {
      if (name == resize.name) resize_ = resize.make;
    }
    crop_ = static_cast<int>(fields.integer("crop", 1, 4096));
    shorter_ = static_cast<int>(fields.integer("shorter", crop_, 8192));
    bgr_ = fields.choice("channels", {"rgb", "bgr"}) == "bgr";
    const auto mean = fields.numbers("mean", 3), scale = fields.numbers("scale", 3);
    std::copy(mean.begin(), mean.end(), mean_);
    std::copy(scale.begin(), scale.end(), scale_);
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
    const auto side = [&](int64_t length) { return static_cast<int>(length * shorter_ / shorter); };
    const int width = side(image.width), height = side(image.height);
    if (std::max(width, height) > 65'536) {
      fail(Code::refused, "a picture of ", image.width, "x", image.height,
           " is too narrow to be classified");
    }
    const Image small = resize_(image, width, height);
    return crop(small, centered(width), centered(height), crop_, crop_);
  }
  /// Where the middle begins; halves go to the even number.
  int centered(int length) const {
    return static_cast<int>(std::nearbyint((length - crop_) / 2.0));
  }

  /// float32[rows, 3, crop, crop]; rows behind the samples are zero.
  Tensor pixels(std::span<const Sample> samples, size_t rows) const {
    const size_t plane = static_cast<size_t>(crop_) * static_cast<size_t>(crop_);
    Tensor tensor(DType::f32, {static_cast<int64_t>(rows), 3, crop_, crop_});
    float* to = tensor.data<float>();
    for (const Sample& sample : samples) {
      const Image image = within(sample.name, [&] { return middle(sample.image); });
      for (size_t c = 0; c < 3; ++c, to += plane) {
        const size_t from = bgr_ ? 2 - c : c;
        float values[256];
        for (int v = 0; v < 256; ++v) values[v] = static_cast<float>((v - mean_[c]) * scale_[c]);
        for (size_t i = 0; i < plane; ++i) to[i] = values[image.pixels[3 * i + from]];
      }
    }
    std::fill(to, tensor.data<float>() + tensor.numel(), 0.0F);
    return tensor;
  }

  Module& module_;
  Image (*resize_)(const Image&, int, int) = nullptr;
  int shorter_ = 0, crop_ = 0;
  bool bgr_ = false, softmax_ = false, multi_label_ = false;
  double mean_[3] = {}, scale_[3] = {};
  std::vector<std::string> labels_;
};

}  // namespace

std::unique_ptr<Task> make_image_classification(Module& module) {
  return std::make_unique<ImageClassification>(module);
}

}  // namespace hub
