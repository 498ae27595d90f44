// Tagged sequences: a class for each token, on its own or as a path (CRF).
#include <algorithm>

#include "base/error.h"
#include "finetune/objective.h"

namespace hub {
namespace {

/// The tags that the network gives, one a token of all items in order.
std::vector<int32_t> tags_of(std::span<const Tensor> outputs) {
  std::vector<int32_t> tags;
  if (outputs.size() > 1) {
    for (const int64_t tag : outputs[1].to_ints()) tags.push_back(static_cast<int32_t>(tag));
    return tags;
  }
  const int64_t rows = outputs[0].shape()[0], n = outputs[0].shape()[1];
  for (int64_t i = 0; i < rows; ++i) {
    const float* z = outputs[0].data<float>() + i * n;
    tags.push_back(static_cast<int32_t>(std::max_element(z, z + n) - z));
  }
  return tags;
}

/// Calls each(item, its tags).
template <class Each>
void for_items(std::span<const Item* const> items, std::span<const Tensor> outputs, Each each) {
  const std::vector<int32_t> tags = tags_of(outputs);
  size_t at = 0;
  for (const Item* item : items) {
    if (tags.size() - at < item->labels.size())
      fail(Code::refused, "the network gives ", tags.size(), " tags, fewer than there are tokens");
    each(*item, std::span(tags).subspan(at, item->labels.size()));
    at += item->labels.size();
  }
}

struct TagMeasure final : Measure {
  explicit TagMeasure(const std::vector<std::string>& tags) : meter(tags) {}
  void add(std::span<const Item* const> items, std::span<const Tensor> outputs) override {
    for_items(items, outputs, [&](const Item& item, std::span<const int32_t> tags) {
      meter.add(tags, item.labels);
    });
  }
  Metrics result() const override { return meter.result(); }
  SpanMeter meter;
};

class Tags final : public Objective {
 public:
  Tags(ObjectiveOptions options, bool crf) : options_(std::move(options)), crf_(crf) {
    if (crf && (!options_.class_weights.empty() || options_.label_smoothing > 0))
      fail(Code::usage, "class weights and label smoothing are for tags without a CRF");
  }

  /// Of a CRF the mean over sequences, else over tokens.
  Var loss(Program& program, const Vars& outputs) const override {
    if (!crf_) {
      const auto n = static_cast<int64_t>(options_.classes.size());
      const Var target{&program, program.add_input("target", {DType::f32, {-1, n}})};
      const Var log_p = apply("log_softmax", {outputs.at(0)}, {{"axis", int64_t{-1}}});
      return divided_sum(program, unary("neg", mul(target, log_p)));
    }
    const ValueId transitions = program.find("head.transitions");
    const auto offsets =
        std::find_if(program.inputs.begin(), program.inputs.end(),
                     [&](ValueId id) { return program[id].name.ends_with("offsets"); });
    if (transitions == absent || offsets == program.inputs.end())
      fail(Code::refused, "the network has no CRF for its tags");
    const Var offsets_in{&program, *offsets};
    const Var target{&program, program.add_input("target", {DType::i64, {-1}})};
    return divided_sum(program, apply("crf_loss", {outputs.at(0), Var{&program, transitions},
                                                   target, offsets_in}));
  }

  std::vector<Tensor> targets(std::span<const Item* const> items, std::span<const Tensor>,
                              double& weight) const override {
    std::vector<int64_t> labels;
    for (const Item* item : items)
      labels.insert(labels.end(), item->labels.begin(), item->labels.end());
    weight = static_cast<double>(items.size());
    if (crf_) return {Tensor::ints(labels)};
    const size_t n = options_.classes.size();
    std::vector<float> weights = options_.class_weights;
    if (weights.empty()) weights.assign(n, 1);
    Tensor t(DType::f32, {static_cast<int64_t>(labels.size()), static_cast<int64_t>(n)});
    const double smooth = options_.label_smoothing;
    weight = 0;
    for (size_t i = 0; i < labels.size(); ++i) {
      const auto label = static_cast<size_t>(labels[i]);
      weight += weights.at(label);
      for (size_t k = 0; k < n; ++k) {
        const double share = (k == label ? 1 - smooth : 0) + smooth / static_cast<double>(n);
        t.data<float>()[i * n + k] = static_cast<float>(weights[label] * share);
      }
    }
    return {t};
  }

  std::unique_ptr<Measure> measure() const override {
    return std::make_unique<TagMeasure>(options_.classes);
  }

  /// The share of wrong tags.
  std::vector<double> badness(std::span<const Item* const> items,
                              std::span<const Tensor> outputs) const override {
    std::vector<double> all;
    for_items(items, outputs, [&](const Item& item, std::span<const int32_t> tags) {
      double wrong = 0;
      for (size_t i = 0; i < tags.size(); ++i) wrong += tags[i] != item.labels[i] ? 1 : 0;
      all.push_back(wrong / static_cast<double>(std::max<size_t>(tags.size(), 1)));
    });
    return all;
  }

  std::string metric(bool& lower) const override {
    lower = false;
    const Metrics some = SpanMeter(options_.classes).result();
    return some.find("span_f1") != nullptr ? "span_f1" : "accuracy";
  }

 private:
  ObjectiveOptions options_;
  bool crf_;
};

}  // namespace

std::unique_ptr<Objective> tags_objective(ObjectiveOptions options, bool crf) {
  return std::make_unique<Tags>(std::move(options), crf);
}

}  // namespace hub
