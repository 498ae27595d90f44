// Pairs of texts that belong together: each text finds its partner among the others of the batch
// (Henderson et al. 2017; the "multiple negatives ranking" of sentence-transformers, both ways).
// The network sees the first texts of a batch, then the second ones: [2 B, D] of unit length.
#include <algorithm>

#include "base/error.h"
#include "finetune/objective.h"

namespace hub {
namespace {

constexpr float sharpness = 20;  ///< what cosines are multiplied by before the softmax
constexpr float excluded = -1e4F;

/// The cosines between texts i and j of one batch.
class Cosines {
 public:
  Cosines(const Tensor& units, size_t items) : units_(units) {
    const Shape& shape = units.shape();
    if (units.dtype() != DType::f32 || shape.rank() != 2 ||
        shape[0] != static_cast<int64_t>(2 * items))
      fail(Code::refused, "the network gives ", units.spec().str(), " for ", items,
           " pairs, wanted a row a text");
  }
  double operator()(size_t i, size_t j) const {
    const auto width = static_cast<size_t>(units_.shape()[1]);
    const float* a = units_.data<float>() + i * width;
    const float* b = units_.data<float>() + j * width;
    double sum = 0;
    for (size_t k = 0; k < width; ++k) sum += double{a[k]} * b[k];
    return sum;
  }

 private:
  const Tensor& units_;
};

struct PairMeasure final : Measure {
  void add(std::span<const Item* const> items, std::span<const Tensor> outputs) override {
    const size_t n = items.size();
    const Cosines cosine(outputs[0], n);
    for (size_t i = 0; i < n; ++i) {
      size_t best = 0;
      for (size_t j = 1; j < n; ++j)
        if (cosine(i, n + j) > cosine(i, n + best)) best = j;
      right += items[best]->text_b == items[i]->text_b ? 1 : 0;
      sum += cosine(i, n + i);
    }
    rows += n;
  }
  Metrics result() const override {
    const auto share = [&](double x) { return rows == 0 ? 0 : x / static_cast<double>(rows); };
    Metrics m;
    m.values = {{"accuracy", share(static_cast<double>(right))}, {"similarity", share(sum)}};
    return m;
  }
  size_t rows = 0, right = 0;
  double sum = 0;
};

class PairsObjective final : public Objective {
 public:
  Var loss(Program& program, const Vars& outputs) const override {
    const Var target{&program, program.add_input("target", {DType::f32, {-1, -1}})};
    const Var mask{&program, program.add_input("mask", {DType::f32, {-1, -1}})};
    const Var x = outputs.at(0);
    const Var scores = add(matmul(x, x, {}, false, true, sharpness), mask);
    const Var log_p = apply("log_softmax", {scores}, {{"axis", int64_t{-1}}});
    return divided_sum(program, unary("neg", mul(target, log_p)));
  }

  /// What is on the same side, and what says the same as the partner, is no wrong answer.
  std::vector<Tensor> targets(std::span<const Item* const> items, std::span<const Tensor>,
                              double& weight) const override {
    const size_t n = items.size();
    Tensor target(DType::f32, {static_cast<int64_t>(2 * n), static_cast<int64_t>(2 * n)});
    Tensor mask(DType::f32, target.shape());
    std::fill_n(target.data<float>(), target.numel(), 0.0F);
    std::fill_n(mask.data<float>(), mask.numel(), excluded);
    for (size_t i = 0; i < n; ++i) {
      for (size_t j = 0; j < n; ++j) {
        if (i == j || items[i]->text_b != items[j]->text_b)
          mask.data<float>()[i * 2 * n + n + j] = 0;
        if (i == j || items[i]->text != items[j]->text) mask.data<float>()[(n + i) * 2 * n + j] = 0;
      }
      target.data<float>()[i * 2 * n + n + i] = 0.5F;
      target.data<float>()[(n + i) * 2 * n + i] = 0.5F;
    }
    weight = static_cast<double>(n);
    return {target, mask};
  }

  std::unique_ptr<Measure> measure() const override { return std::make_unique<PairMeasure>(); }

  std::vector<double> badness(std::span<const Item* const> items,
                              std::span<const Tensor> outputs) const override {
    const Cosines cosine(outputs[0], items.size());
    std::vector<double> all;
    for (size_t i = 0; i < items.size(); ++i) all.push_back(1 - cosine(i, items.size() + i));
    return all;
  }

  std::string metric(bool& lower) const override {
    lower = false;
    return "accuracy";
  }
};

}  // namespace

std::unique_ptr<Objective> pairs_objective() { return std::make_unique<PairsObjective>(); }

}  // namespace hub
