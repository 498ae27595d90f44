// Text classification, of one text or a pair: an encoder with a linear head. postprocess: labels (a
// file), multi_label (labels that do not exclude each other).
#include <nlohmann/json.hpp>

#include "hub/fields.h"
#include "modules/labels.h"
#include "modules/text_task.h"

namespace hub {
namespace {

class TextClassification final : public TextTask {
 public:
  explicit TextClassification(Module& module) : TextTask(module) {
    Fields post(module.manifest().postprocess, module.manifest().id() + ": postprocess");
    labels_ = read_labels(module, post.path("labels"));
    multi_label_ = post.boolean("multi_label", false);
    post.done();
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

 private:
  std::vector<std::string> labels_;
  bool multi_label_ = false;
};

}  // namespace

std::unique_ptr<Task> make_text_classification(Module& module) {
  return std::make_unique<TextClassification>(module);
}

}  // namespace hub
