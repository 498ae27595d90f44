// Text regression, of one text or a pair: an encoder with a head of one number.
#include <nlohmann/json.hpp>

#include "hub/fields.h"
#include "modules/text_task.h"

namespace hub {
namespace {

class TextRegression final : public TextTask {
 public:
  explicit TextRegression(Module& module) : TextTask(module) {
    Fields(module.manifest().postprocess, module.manifest().id() + ": postprocess").done();
  }

  std::vector<json> decode(std::span<const Sample> samples, std::span<const Tensor> outputs,
                           const RunOptions&) override {
    std::vector<json> all;
    for (const float value : rows(outputs, samples.size(), 1)) all.push_back({{"value", value}});
    return all;
  }
};

}  // namespace

std::unique_ptr<Task> make_text_regression(Module& module) {
  return std::make_unique<TextRegression>(module);
}

}  // namespace hub
