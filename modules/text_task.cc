#include "modules/text_task.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace hub {

std::vector<Tensor> TextTask::encode(std::span<const Sample> samples) {
  std::vector<std::vector<int64_t>> texts;
  for (const Sample& sample : samples) texts.push_back(encoder_.ids(sample));
  return encoder_.batch(texts, 8);
}

std::vector<json> TextTask::predict(std::span<const Sample> samples, const RunOptions& options) {
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

std::span<const float> TextTask::rows(std::span<const Tensor> outputs, size_t samples,
                                      size_t width) const {
  const Spec wanted{DType::f32, {static_cast<int64_t>(samples), static_cast<int64_t>(width)}};
  if (outputs.empty() || outputs[0].spec() != wanted)
    fail(Code::refused, module_.manifest().id(), ": the network gives ",
         outputs.empty() ? "nothing" : outputs[0].spec().str(), ", wanted ", wanted.str());
  return {outputs[0].data<float>(), samples * width};
}

}  // namespace hub
