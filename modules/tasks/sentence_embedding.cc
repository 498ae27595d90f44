// Sentence embedding: tokens, an encoder, the mean of its last layer over the tokens, unit length.
// preprocess: see text_encoder.h; postprocess: pooling "mean", normalize.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/error.h"
#include "hub/fields.h"
#include "modules/text_encoder.h"
#include "modules/vectors.h"

namespace hub {
namespace {

constexpr size_t most_rows = 32;      ///< texts in one run of the network
constexpr size_t most_tokens = 4096;  ///< the same in tokens, padding included

class SentenceEmbedding final : public Task {
 public:
  explicit SentenceEmbedding(Module& module);
  InputKind input() const override { return InputKind::text; }
  std::vector<json> predict(std::span<const Sample> samples, const RunOptions& options) override;
  size_t batch() const override { return 4 * most_rows; }
  std::vector<Tensor> encode(std::span<const Sample> samples) override {
    std::vector<std::vector<int64_t>> texts;
    for (const Sample& sample : samples) texts.push_back(encoder_.ids(sample));
    return encoder_.batch(texts, 8);
  }

 private:
  using Vector = std::vector<float>;
  std::vector<Vector> embed(std::span<const Sample> samples);
  Tensor run(std::span<const std::vector<int64_t>* const> texts, size_t length);
  Vector pool(const float* hidden, size_t tokens, size_t width) const;

  Module& module_;
  TextEncoder encoder_;
  bool normalize_ = true;
};

SentenceEmbedding::SentenceEmbedding(Module& module) : module_(module), encoder_(module) {
  Fields post(module.manifest().postprocess, module.manifest().id() + ": postprocess");
  post.choice("pooling", {"mean"});
  normalize_ = post.boolean("normalize");
  post.done();
}

/// [texts, length, width]: what the network makes of these texts.
Tensor SentenceEmbedding::run(std::span<const std::vector<int64_t>* const> texts, size_t length) {
  Tensor hidden = module_.network("main").run(encoder_.batch(texts))[0];
  const bool fits = hidden.dtype() == DType::f32 && hidden.shape().rank() == 3 &&
                    hidden.shape()[0] == static_cast<int64_t>(texts.size()) &&
                    hidden.shape()[1] == static_cast<int64_t>(length);
  if (!fits) {
    fail(Code::refused, module_.manifest().id(), ": the network gave ", hidden.spec().str(),
         " for ", texts.size(), " texts of ", length, " tokens, wanted a row of numbers a token");
  }
  return hidden;
}

SentenceEmbedding::Vector SentenceEmbedding::pool(const float* hidden, size_t tokens,
                                                  size_t width) const {
  Vector mean(width);
  for (size_t i = 0; i < tokens; ++i) {
    for (size_t k = 0; k < width; ++k) mean[k] += hidden[i * width + k];
  }
  for (float& x : mean) x /= static_cast<float>(std::max<size_t>(tokens, 1));
  if (normalize_) to_unit_length(mean);
  return mean;
}

/// Texts of like length go together, so that little is padding.
std::vector<SentenceEmbedding::Vector> SentenceEmbedding::embed(std::span<const Sample> samples) {
  std::vector<std::vector<int64_t>> texts;
  for (const Sample& sample : samples) texts.push_back(encoder_.ids(sample));
  std::vector<size_t> order(texts.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return texts[a].size() > texts[b].size(); });
  std::vector<Vector> out(texts.size());
  for (size_t first = 0; first < order.size();) {
    const size_t length = std::max<size_t>(texts[order[first]].size(), 1);
    const size_t rows =
        std::clamp(most_tokens / length, size_t{1}, std::min(most_rows, order.size() - first));
    std::vector<const std::vector<int64_t>*> group;
    for (size_t i = first; i < first + rows; ++i) group.push_back(&texts[order[i]]);
    const Tensor hidden = run(group, length);
    const auto width = static_cast<size_t>(hidden.shape()[2]);
    for (size_t row = 0; row < rows; ++row) {
      out[order[first + row]] =
          pool(hidden.data<float>() + row * length * width, group[row]->size(), width);
    }
    first += rows;
  }
  return out;
}

/// With options.pair one result for the two samples.
std::vector<json> SentenceEmbedding::predict(std::span<const Sample> samples,
                                             const RunOptions& options) {
  if (options.pair && samples.size() != 2) {
    fail(Code::usage, "--pair compares two texts, ", samples.size(), " were given");
  }
  const std::vector<Vector> vectors = embed(samples);
  if (options.pair) return {json{{"similarity", cosine(vectors[0], vectors[1])}}};
  std::vector<json> out;
  for (const Vector& vector : vectors) out.push_back({{"embedding", vector}});
  return out;
}

}  // namespace

std::unique_ptr<Task> make_sentence_embedding(Module& module) {
  return std::make_unique<SentenceEmbedding>(module);
}

}  // namespace hub
