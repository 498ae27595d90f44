// Text regression, of one text or a pair: an encoder with a head of one number.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "hub/fields.h"
#include "modules/text_encoder.h"

namespace hub {
namespace {

constexpr size_t most_rows = 32;

class TextRegression final : public Task {
 public:
  explicit TextRegression(Module& module) : module_(module), encoder_(module) {
    Fields post(module.manifest().postprocess, module.manifest().id() + ": postprocess");
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
                           const RunOptions&) override {
    const Spec wanted{DType::f32, {static_cast<int64_t>(samples.size()), 1}};
    if (outputs.empty() || outputs[0].spec() != wanted)
      fail(Code::refused, module_.manifest().id(), ": the network gives no number a text");
    std::vector<json> all;
    for (size_t i = 0; i < samples.size(); ++i)
      all.push_back({{"value", outputs[0].data<float>()[i]}});
    return all;
  }

  std::vector<json> predict(std::span<const Sample> samples, const RunOptions& options) override {
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
  Module& module_;
  TextEncoder encoder_;
};

}  // namespace

std::unique_ptr<Task> make_text_regression(Module& module) {
  return std::make_unique<TextRegression>(module);
}

}  // namespace hub
