// Objectives of whole inputs: one class, any classes, a number.
#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "finetune/objective.h"

namespace hub {
namespace {

/// Cross-entropy -Σ t log softmax(z) against targets that are distributions.
class Classes final : public Objective {
 public:
  explicit Classes(ObjectiveOptions options) : options_(std::move(options)) {}

  Var loss(Program& program, const Vars& outputs) const override {
    const auto n = static_cast<int64_t>(options_.classes.size());
    const Var target{&program, program.add_input("target", {DType::f32, {-1, n}})};
    const Var log_p = apply("log_softmax", {outputs.at(0)}, {{"axis", int64_t{-1}}});
    return divided_sum(program, unary("neg", mul(target, log_p)));
  }

  std::vector<Tensor> targets(std::span<const Item* const> items, std::span<const Tensor>,
                              double& weight) const override {
    const size_t n = options_.classes.size();
    Tensor t(DType::f32, {static_cast<int64_t>(items.size()), static_cast<int64_t>(n)});
    const double smooth = options_.label_smoothing;
    weight = 0;
    for (size_t i = 0; i < items.size(); ++i) {
      const auto label = static_cast<size_t>(items[i]->labels.at(0));
      const double w = options_.class_weights.empty() ? 1 : options_.class_weights.at(label);
      weight += w;
      for (size_t k = 0; k < n; ++k) {
        const double share = (k == label ? 1 - smooth : 0) + smooth / static_cast<double>(n);
        t.data<float>()[i * n + k] = static_cast<float>(w * share);
      }
    }
    return {t};
  }

  std::unique_ptr<Measure> measure() const override;

  std::vector<double> badness(std::span<const Item* const> items,
                              std::span<const Tensor> outputs) const override {
    const size_t n = options_.classes.size();
    std::vector<double> all;
    for (size_t i = 0; i < items.size(); ++i) {
      const float* z = outputs[0].data<float>() + i * n;
      const double most = *std::max_element(z, z + n);
      double sum = 0;
      for (size_t k = 0; k < n; ++k) sum += std::exp(z[k] - most);
      all.push_back(std::log(sum) + most - z[items[i]->labels.at(0)]);
    }
    return all;
  }

  std::string metric(bool& lower) const override {
    lower = false;
    return "accuracy";
  }

 private:
  ObjectiveOptions options_;
};

struct ClassMeasure final : Measure {
  explicit ClassMeasure(const std::vector<std::string>& classes) : meter(classes) {}
  void add(std::span<const Item* const> items, std::span<const Tensor> outputs) override {
    std::vector<int32_t> labels;
    for (const Item* item : items) labels.push_back(item->labels.at(0));
    meter.add(outputs[0].values<float>(), labels);
  }
  Metrics result() const override { return meter.result(); }
  ClassMeter meter;
};

std::unique_ptr<Measure> Classes::measure() const {
  return std::make_unique<ClassMeasure>(options_.classes);
}

std::vector<uint8_t> one_hot(std::span<const Item* const> items, size_t classes) {
  std::vector<uint8_t> hot(items.size() * classes);
  for (size_t i = 0; i < items.size(); ++i) {
    for (int32_t label : items[i]->labels) hot.at(i * classes + static_cast<size_t>(label)) = 1;
  }
  return hot;
}

struct MultiLabelMeasure final : Measure {
  explicit MultiLabelMeasure(const std::vector<std::string>& classes)
      : meter(classes), count(classes.size()) {}
  void add(std::span<const Item* const> items, std::span<const Tensor> outputs) override {
    meter.add(outputs[0].values<float>(), one_hot(items, count));
  }
  Metrics result() const override { return meter.result(); }
  MultiLabelMeter meter;
  size_t count;
};

/// Binary cross-entropy softplus(z) - t z, the mean over the classes of a row.
class MultiLabel final : public Objective {
 public:
  explicit MultiLabel(ObjectiveOptions options) : options_(std::move(options)) {}

  Var loss(Program& program, const Vars& outputs) const override {
    const auto n = static_cast<int64_t>(options_.classes.size());
    const Var target{&program, program.add_input("target", {DType::f32, {-1, n}})};
    const Var z = outputs.at(0);
    const Var each = apply("sub", {unary("softplus", z), mul(target, z)});
    const Var share = constant(program, Tensor::scalar(1 / static_cast<float>(n)));
    return divided_sum(program, mul(each, share));
  }

  std::vector<Tensor> targets(std::span<const Item* const> items, std::span<const Tensor>,
                              double& weight) const override {
    const size_t n = options_.classes.size();
    Tensor t(DType::f32, {static_cast<int64_t>(items.size()), static_cast<int64_t>(n)});
    const auto hot = one_hot(items, n);
    const double smooth = options_.label_smoothing;
    std::transform(hot.begin(), hot.end(), t.data<float>(),
                   [&](uint8_t h) { return static_cast<float>(h * (1 - smooth) + smooth / 2); });
    weight = static_cast<double>(items.size());
    return {t};
  }

  std::unique_ptr<Measure> measure() const override {
    return std::make_unique<MultiLabelMeasure>(options_.classes);
  }

  std::vector<double> badness(std::span<const Item* const> items,
                              std::span<const Tensor> outputs) const override {
    const size_t n = options_.classes.size();
    const auto hot = one_hot(items, n);
    std::vector<double> all(items.size());
    for (size_t i = 0; i < hot.size(); ++i) {
      const double z = outputs[0].data<float>()[i];
      all[i / n] += std::max(z, 0.0) + std::log1p(std::exp(-std::fabs(z))) - hot[i] * z;
    }
    return all;
  }

  std::string metric(bool& lower) const override {
    lower = false;
    return "macro_f1";
  }

 private:
  ObjectiveOptions options_;
};

struct NumberMeasure final : Measure {
  void add(std::span<const Item* const> items, std::span<const Tensor> outputs) override {
    std::vector<float> wanted;
    for (const Item* item : items) wanted.push_back(item->value);
    meter.add(outputs[0].values<float>(), wanted);
  }
  Metrics result() const override { return meter.result(); }
  RegressionMeter meter;
};

/// Squared error.
class Number final : public Objective {
 public:
  Var loss(Program& program, const Vars& outputs) const override {
    const Var target{&program, program.add_input("target", {DType::f32, {-1, 1}})};
    const Var off = apply("sub", {outputs.at(0), target});
    return divided_sum(program, mul(off, off));
  }
  std::vector<Tensor> targets(std::span<const Item* const> items, std::span<const Tensor>,
                              double& weight) const override {
    Tensor t(DType::f32, {static_cast<int64_t>(items.size()), 1});
    for (size_t i = 0; i < items.size(); ++i) t.data<float>()[i] = items[i]->value;
    weight = static_cast<double>(items.size());
    return {t};
  }
  std::unique_ptr<Measure> measure() const override { return std::make_unique<NumberMeasure>(); }
  std::vector<double> badness(std::span<const Item* const> items,
                              std::span<const Tensor> outputs) const override {
    std::vector<double> all;
    for (size_t i = 0; i < items.size(); ++i)
      all.push_back(std::fabs(outputs[0].data<float>()[i] - items[i]->value));
    return all;
  }
  std::string metric(bool& lower) const override {
    lower = true;
    return "rmse";
  }
};

}  // namespace

Var norm_input(Program& program) {
  const ValueId id = program.find("norm");
  return {&program, id != absent ? id : program.add_input("norm", {DType::f32, {}})};
}

Var divided_sum(Program& program, Var losses) {
  return apply("div",
               {apply("reduce_sum", {losses}, {{"keepdims", int64_t{0}}}), norm_input(program)});
}

std::unique_ptr<Objective> class_objective(ObjectiveOptions options) {
  return std::make_unique<Classes>(std::move(options));
}
std::unique_ptr<Objective> multi_label_objective(ObjectiveOptions options) {
  return std::make_unique<MultiLabel>(std::move(options));
}
std::unique_ptr<Objective> number_objective() { return std::make_unique<Number>(); }

}  // namespace hub
