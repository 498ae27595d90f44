// A training run small enough to be repeated hundreds of times: pictures of 2 x 6 x 6 numbers, a
// network with a convolution, a batch norm and two products, three classes.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>

#include "finetune/random.h"
#include "finetune/trainer.h"
#include "modules/adapt.h"
#include "runtime/ops.h"

namespace hub {

inline Tensor random_tensor(const Shape& shape, uint64_t seed) {
  Tensor t(DType::f32, shape);
  Random random(seed);
  for (float& v : std::span(t.data<float>(), static_cast<size_t>(t.numel())))
    v = static_cast<float>(random.real() - 0.5);
  return t;
}

inline Program tiny_network(int64_t classes = 3, bool lora = false) {
  Program p;
  const Var x{&p, p.add_input("x", {DType::f32, {-1, 2, 6, 6}})};
  const auto named = [&](const std::string& name, const Shape& shape, uint64_t seed) {
    return constant(p, random_tensor(shape, seed), name);
  };
  const auto filled = [&](const std::string& name, float v) {
    Tensor t(DType::f32, {4});
    std::fill_n(t.data<float>(), 4, v);
    return constant(p, t, name);
  };
  Var h = conv(x, named("conv/w", {4, 2, 3, 3}, 1), {}, {.strides = {2, 2}});
  h = batch_norm(h, filled("norm/scale", 1), filled("norm/bias", 0), filled("norm/mean", 0),
                 filled("norm/var", 1), 1e-3);
  h = apply("flatten", {global_average(unary("relu", h))});
  h = unary("tanh", matmul(h, named("middle/w", {4, 8}, 4), named("middle/b", {8}, 5)));
  const Var y = matmul(h, named("last/w", {8, 5}, 6));
  p.outputs = {y.id};
  NamedTensors tensors;
  if (lora) tensors = lora_tensors(p, 2, 1);
  adapt(p, Head{.features = {}, .outputs = classes}, tensors, 1);
  return p;
}

inline Dataset tiny_rows(size_t count, int classes, uint64_t seed) {
  Dataset data;
  for (int c = 0; c < classes; ++c) data.classes.push_back(concat("class", c));
  data.items.resize(count);
  for (size_t i = 0; i < count; ++i) {
    Item& item = data.items[i];
    item.source = concat("row ", i);
    item.labels = {static_cast<int32_t>(i % static_cast<size_t>(classes))};
    Random random(seed, i);
    for (int k = 0; k < 72; ++k)
      item.gray.push_back(
          static_cast<uint8_t>(random.below(128) + (k % 36 < 9 + 9 * item.labels[0] ? 100 : 0)));
  }
  return data;
}

inline std::vector<Tensor> tiny_encode(std::span<const Item* const> items) {
  Tensor t(DType::f32, {static_cast<int64_t>(items.size()), 2, 6, 6});
  float* to = t.data<float>();
  for (const Item* item : items)
    for (const uint8_t v : item->gray) *to++ = static_cast<float>(v) / 128 - 1;
  return {t};
}

/// What a listener of a test keeps, and when it asks the run to end.
struct Watch final : TrainListener {
  std::vector<Step> steps;
  std::vector<int64_t> evaluations, best;
  std::vector<std::string> notes;
  std::atomic<int> stop{0};
  int64_t stop_at_step = 0, stop_at_evaluation = 0;

  void step(const Step& s) override {
    steps.push_back(s);
    if (s.step == stop_at_step) stop = 15;
  }
  void evaluated(int64_t epoch, int64_t, double, const Metrics&, bool better) override {
    evaluations.push_back(epoch);
    if (better) best.push_back(epoch);
    if (static_cast<int64_t>(evaluations.size()) == stop_at_evaluation) stop = 15;
  }
  void note(std::string_view text) override { notes.emplace_back(text); }
};

/// The job's parts, kept alive.
struct TinyRun {
  explicit TinyRun(TrainOptions options = {}, size_t rows = 19, size_t validation_rows = 40)
      : train(tiny_rows(rows, 3, 7)), validation(tiny_rows(validation_rows, 3, 8)) {
    objective = class_objective({train.classes, {}, options.label_smoothing});
    job.options = std::move(options);
    job.options.loaders = 2;
    job.network = tiny_network(3, job.options.strategy == "lora");
    job.objective = objective.get();
    job.train = &train;
    job.validation = &validation;
    job.encode = [](std::span<const Item* const> items, uint64_t, bool) {
      return tiny_encode(items);
    };
    job.identity = {{"base", "tiny"}};
  }

  TrainResult go(Watch& watch, const std::string& work, bool resume) {
    job.work = work;
    job.resume = resume;
    job.listener = &watch;
    job.stop = &watch.stop;
    return hub::train(job);
  }

  Dataset train, validation;
  std::unique_ptr<Objective> objective;
  TrainJob job;
};

/// Where two sets of tensors differ in a bit; empty: nowhere.
inline std::string difference(const NamedTensors& a, const NamedTensors& b) {
  if (a.size() != b.size()) return concat(a.size(), " tensors against ", b.size());
  for (const auto& [name, t] : a) {
    const auto it = b.find(name);
    if (it == b.end()) return name + " is missing";
    if (it->second.spec() != t.spec() || std::memcmp(t.raw(), it->second.raw(), t.bytes()) != 0)
      return name;
  }
  return {};
}

inline Checkpoint newest_of(const std::string& work, const json& identity) {
  std::vector<std::string> notes;
  auto found = Checkpoints(work, identity).newest(notes);
  if (!found) fail(Code::not_found, "no checkpoint in ", work);
  return std::move(*found);
}

inline std::vector<std::string> checkpoint_files(const std::string& folder) {
  std::vector<std::string> all;
  for (const auto& e : std::filesystem::directory_iterator(folder)) all.push_back(e.path());
  std::sort(all.begin(), all.end());
  return all;
}

}  // namespace hub
