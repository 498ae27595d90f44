// Text classification, of one text or a pair: an encoder with a linear head. postprocess: labels (a
// file), multi_label (labels that do not exclude each other), or neither for a regression, whose
// output is one number.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "hub/fields.h"
#include "modules/labels.h"
#include "modules/text_encoder.h"

namespace hub {
namespace {

constexpr size_t most_rows = 32;

class TextClassification : public Task {
 public:
  explicit TextClassification(Module& module) : module_(module), encoder_(module) {
    Fields post(module.manifest().postprocess, module.manifest().id() + ": postprocess");
    labels_ = read_labels(module, post.path("labels"));
    multi_label_ = post.boolean("multi_label", false);
    post.done();
  }

  InputKind input() const override { return InputKind::text; }
  size_t batch() const override { return most_rows; }

  std::vector<Tensor> encode(std::span<const Sample> samples) override {
    std::vector<std::vector<int64_t>> texts;
    for (const Sample& sample : samples) texts.push_back(encoder_.ids(sample));
    return encoder_.batch(texts, 8);
  }

  std::vector<json> decode(std::span<const Sample> samples, std::span<const Tensor> outputs,
                           const RunOptions& options) override {
    std::vector<json> all;
    const size_t width = labels_.size();
    const std::span<const float> scores = rows(outputs, samples.size(), width);
    for (size_t i = 0; i < samples.size(); ++i) {
      const auto row = scores.subspan(i * width, width);
      all.push_back(multi_label_ ? all_labels(labels_, row, samples[i].name)
                                 : best_labels(labels_, row, true, options.top, samples[i].name));
    }
    return all;
  }

  std::vector<json> predict(std::span<const Sample> samples, const RunOptions& options) override {
    if (options.top < 1) fail(Code::usage, "top is ", options.top, ", wanted at least 1");
    std::vector<json> all;
    while (!samples.empty()) {
      const auto some = samples.first(std::min(most_rows, samples.size()));
      samples = samples.subspan(some.size());
      const auto outputs = module_.network("main").run(encode(some));
      for (json& result : decode(some, outputs, options)) all.push_back(std::move(result));
    }
    return all;
  }

 private:
  std::span<const float> rows(std::span<const Tensor> outputs, size_t count, size_t width) const {
    const Spec wanted{DType::f32, {static_cast<int64_t>(count), static_cast<int64_t>(width)}};
    if (outputs.empty() || outputs[0].spec() != wanted)
      fail(Code::refused, module_.manifest().id(), ": the network gives ",
           outputs.empty() ? "nothing" : outputs[0].spec().str(), ", wanted ", wanted.str(),
           " for the ", width, " labels of the manifest");
    return {outputs[0].data<float>(), count * width};
  }

  Module& module_;
  TextEncoder encoder_;
  std::vector<std::string> labels_;
  bool multi_label_ = false;
};

}  // namespace

std::unique_ptr<Task> make_text_classification(Module& module) {
  return std::make_unique<TextClassification>(module);
}

}  // namespace hub
