// The answer to a question as a part of a text: cross-entropy of its first and of its last token.
// Questions without an answer point at the first token of all; those whose answer the network does
// not get to see count for nothing.
#include <algorithm>
#include <array>
#include <cmath>

#include "base/text.h"
#include "finetune/objective.h"
#include "finetune/plan.h"

namespace hub {
namespace {

/// -1 where the answer was cut off.
using Places = std::array<int64_t, 2>;

Places places_of(Task& task, const Item& item) {
  const auto [first, last] = task.locate(sample_of(item, InputKind::text), item.start, item.end);
  return {first, last};
}

struct AnswerMeasure final : Measure {
  explicit AnswerMeasure(Task& t) : task(t) {}
  void add(std::span<const Item* const> items, std::span<const Tensor> outputs) override {
    std::vector<Sample> samples;
    for (const Item* item : items) samples.push_back(sample_of(*item, InputKind::text));
    const std::vector<json> found = task.decode(samples, outputs, {});
    for (size_t i = 0; i < items.size(); ++i) {
      const std::string answer = answer_of(*items[i]);
      meter.add(found[i].at("answer").get<std::string>(), {&answer, 1});
    }
  }
  Metrics result() const override { return meter.result(); }
  Task& task;
  AnswerMeter meter;
};

class Answers final : public Objective {
 public:
  explicit Answers(Task* task) : task_(task) {}

  Var loss(Program& program, const Vars& outputs) const override {
    const Var target{&program, program.add_input("target", {DType::f32, {-1, 2, -1}})};
    const Var log_p =
        apply("log_softmax", {transpose(outputs.at(0), {0, 2, 1})}, {{"axis", int64_t{-1}}});
    return divided_sum(program, unary("neg", mul(target, log_p)));
  }

  std::vector<Tensor> targets(std::span<const Item* const> items, std::span<const Tensor> encoded,
                              double& weight) const override {
    const int64_t length = encoded[0].shape()[1];
    Tensor t(DType::f32, {static_cast<int64_t>(items.size()), 2, length});
    std::fill_n(t.data<float>(), t.numel(), 0.0F);
    weight = 0;
    for (size_t i = 0; i < items.size(); ++i) {
      const Places at = places_of(*task_, *items[i]);
      if (at[0] < 0) continue;
      weight += 1;
      float* row = t.data<float>() + static_cast<int64_t>(i) * 2 * length;
      row[at[0]] = row[length + at[1]] = 0.5F;
    }
    return {t};
  }

  std::unique_ptr<Measure> measure() const override {
    return std::make_unique<AnswerMeasure>(*task_);
  }

  /// The loss of the item; 0 where the answer was cut off.
  std::vector<double> badness(std::span<const Item* const> items,
                              std::span<const Tensor> outputs) const override {
    const int64_t length = outputs[0].shape()[1];
    std::vector<double> all(items.size());
    for (size_t i = 0; i < items.size(); ++i) {
      const Places at = places_of(*task_, *items[i]);
      if (at[0] < 0) continue;
      const float* z = outputs[0].data<float>() + static_cast<int64_t>(i) * length * 2;
      for (int64_t k = 0; k < 2; ++k) {
        double most = z[k], sum = 0;
        for (int64_t s = 0; s < length; ++s) most = std::max(most, double{z[2 * s + k]});
        for (int64_t s = 0; s < length; ++s) sum += std::exp(z[2 * s + k] - most);
        all[i] += (most + std::log(sum) - z[2 * at[static_cast<size_t>(k)] + k]) / 2;
      }
    }
    return all;
  }

  std::string metric(bool& lower) const override {
    lower = false;
    return "token_f1";
  }

 private:
  Task* task_;
};

}  // namespace

std::unique_ptr<Objective> span_objective(Task* task) { return std::make_unique<Answers>(task); }

std::string answer_of(const Item& item) {
  if (item.start < 0) return {};
  const std::u32string text = decode_utf8(item.text);
  return encode_utf8(std::u32string_view(text).substr(static_cast<size_t>(item.start),
                                                      static_cast<size_t>(item.end - item.start)));
}

}  // namespace hub
