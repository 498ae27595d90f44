// Object detection: the picture stretched to the size of one network; what its decoder finds,
// without overlaps, in pixels of the original. preprocess: square (true: black is added to the
// right or below first), width, height and pixels.h; postprocess: decoder (detection.h), labels (a
// file), threshold (of scores), overlap (of boxes of one label; with across_labels of any two).
#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "hub/fields.h"
#include "modules/detection.h"
#include "modules/draw.h"
#include "modules/labels.h"
#include "modules/pixels.h"

namespace hub {
namespace {

/// With black to the right or below.
Image squared(const Image& image) {
  constexpr int longest = 16384;
  const int side = std::max(image.width, image.height);
  if (side > longest)
    fail(Code::refused, "a picture of ", image.width, " x ", image.height,
         " is made a square here, and sides of more than ", longest, " pixels are not read");
  const size_t row = 3 * static_cast<size_t>(image.width), rows = static_cast<size_t>(side);
  Image out;
  out.width = out.height = side;
  out.pixels.resize(3 * rows * rows);
  for (size_t y = 0; y < static_cast<size_t>(image.height); ++y)
    std::copy_n(image.pixels.data() + y * row, row, out.pixels.data() + y * 3 * rows);
  return out;
}

class ObjectDetection final : public Task {
 public:
  explicit ObjectDetection(Module& module);
  InputKind input() const override { return InputKind::image; }
  size_t batch() const override { return 4; }
  std::vector<json> predict(std::span<const Sample> samples, const RunOptions& options) override;
  Image draw(const Sample& sample, const json& output) const override;

 private:
  json objects(const Image& image, std::span<const Tensor> outputs, size_t row) const;

  Module& module_;
  StretchRule input_;
  bool square_ = false, across_labels_ = false;
  DetectionDecoder decode_ = nullptr;
  double threshold_ = 0, overlap_ = 0;
  std::vector<std::string> labels_;
};

ObjectDetection::ObjectDetection(Module& module) : module_(module) {
  Fields pre(module.manifest().preprocess, module.manifest().id() + ": preprocess");
  square_ = pre.boolean("square", false);
  input_ = StretchRule(pre);
  pre.done();

  Fields post(module.manifest().postprocess, module.manifest().id() + ": postprocess");
  std::vector<std::string> names;
  for (const NamedDecoder& decoder : detection_decoders) names.emplace_back(decoder.name);
  const std::string name = post.choice("decoder", names);
  for (const NamedDecoder& decoder : detection_decoders) {
    if (decoder.name == name) decode_ = decoder.decode;
  }
  labels_ = read_labels(module, post.path("labels"));
  const auto share = [&](const char* key) {
    const double value = post.number(key);
    if (!(value >= 0 && value <= 1)) post.refuse(key, "is not within 0 to 1");
    return value;
  };
  threshold_ = share("threshold");
  overlap_ = share("overlap");
  across_labels_ = post.boolean("across_labels", false);
  post.done();
}

std::vector<json> ObjectDetection::predict(std::span<const Sample> samples, const RunOptions&) {
  Session& network = module_.network("main");
  const size_t rows = rows_of(network, samples.size());
  const size_t picture = 3 * input_.plane();
  std::vector<json> results;
  while (!samples.empty()) {
    const auto some = samples.first(std::min(rows, samples.size()));
    samples = samples.subspan(some.size());
    Tensor pixels(DType::f32, {static_cast<int64_t>(rows), 3, input_.height, input_.width});
    float* to = pixels.data<float>();
    std::fill(to + some.size() * picture, to + rows * picture, 0.0F);
    for (size_t i = 0; i < some.size(); ++i) {
      const Image& image = some[i].image;
      input_.pixels.put(input_.stretched(square_ ? squared(image) : image), to + i * picture,
                        input_.width, input_.height);
    }
    const std::vector<Tensor> outputs = network.run({pixels});
    for (size_t i = 0; i < some.size(); ++i) {
      results.push_back(within(concat(module_.manifest().id(), ": ", some[i].name),
                               [&] { return objects(some[i].image, outputs, i); }));
    }
  }
  return results;
}

json ObjectDetection::objects(const Image& image, std::span<const Tensor> outputs,
                              size_t row) const {
  const std::vector<Detection> found = without_overlaps(
      decode_({outputs, row, input_.width, input_.height, labels_.size(), threshold_}), overlap_,
      across_labels_);
  const int longer = std::max(image.width, image.height);
  const int width = square_ ? longer : image.width, height = square_ ? longer : image.height;
  const auto back = [](double place, int from, int to, int end) {
    return std::clamp(place * to / from, 0.0, static_cast<double>(end));
  };
  json list = json::array();
  for (const Detection& d : found) {
    const double left = back(d.left, input_.width, width, image.width);
    const double top = back(d.top, input_.height, height, image.height);
    const double right = back(d.right, input_.width, width, image.width);
    const double bottom = back(d.bottom, input_.height, height, image.height);
    list.push_back({{"label", labels_[d.label]},
                    {"score", d.score},
                    {"box", {left, top, right - left, bottom - top}}});
  }
  return {{"objects", std::move(list)}};
}

Image ObjectDetection::draw(const Sample& sample, const json& output) const {
  Image picture = sample.image;
  const int thick = std::max(2, std::min(picture.width, picture.height) / 300);
  for (const json& object : output.at("objects")) {
    const std::string label = object.at("label");
    const auto box = object.at("box").get<std::array<double, 4>>();
    const Colour colour = colour_of(
        static_cast<size_t>(std::find(labels_.begin(), labels_.end(), label) - labels_.begin()));
    draw_box(picture, box[0], box[1], box[0] + box[2], box[1] + box[3], colour, thick);
    const auto percent = static_cast<int>(100 * object.at("score").get<double>() + 0.5);
    draw_label(picture, box[0], box[1], concat(label, " ", percent, "%"), colour,
               thick - thick / 3);
  }
  return picture;
}

}  // namespace

std::unique_ptr<Task> make_object_detection(Module& module) {
  return std::make_unique<ObjectDetection>(module);
}

}  // namespace hub
