// Losses of real networks against those of torch with the same weights, rows and settings: fifty
// steps of MiniLM on film reviews (AdamW, warm-up), ten of EfficientNet-lite0 on Fashion-MNIST.
// The curves were made by torch 2.15 in float32; rows are from vaderSentiment (MIT) and
// Fashion-MNIST (MIT).
#include <catch2/catch.hpp>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "finetune/finetune.h"
#include "modules/adapt.h"
#include "tests/modules/default_module.h"

namespace hub {
namespace {

/// Numbers in [-1, 1) times `bound` from a name: FNV-1a, then splitmix64; the script that made the
/// curves has the same.
Tensor head_weight(std::string_view name, const Shape& shape, double bound) {
  uint64_t state = 0xcbf29ce484222325U;
  for (const char c : name) state = (state ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  Tensor t(DType::f32, shape);
  for (int64_t i = 0; i < t.numel(); ++i) {
    uint64_t z = state += 0x9e3779b97f4a7c15U;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    z ^= z >> 31;
    t.data<float>()[i] =
        (static_cast<float>(z >> 40) * 0x1p-23F - 1.0F) * static_cast<float>(bound);
  }
  return t;
}

Tensor zeros(const Shape& shape) {
  Tensor t(DType::f32, shape);
  std::fill_n(t.data<float>(), t.numel(), 0.0F);
  return t;
}

struct Losses final : TrainListener {
  std::vector<double> all;
  void step(const Step& s) override { all.push_back(s.loss); }
};

/// The largest relative difference of the losses of one epoch from those in the file.
double worst_difference(TrainJob& job, const std::string& curve) {
  Losses losses;
  const Dataset none;
  job.validation = &none;
  job.listener = &losses;
  job.options.epochs = 1;
  job.options.shuffle = false;
  job.options.norm_train = false;
  train(job);
  const json wanted = json::parse(read_file(HUB_SOURCE_DIR "/tests/data/curves/" + curve));
  REQUIRE(losses.all.size() == wanted.size());
  double worst = 0;
  for (size_t i = 0; i < wanted.size(); ++i)
    worst = std::max(worst, std::fabs(losses.all[i] / wanted[i].get<double>() - 1));
  return worst;
}

}  // namespace

TEST_CASE("MiniLM on film reviews learns as in torch, step by step") {
  Silent silent;
  Installed base = installed("minilm-l6");
  base.manifest.preprocess["max_length"] = 64;
  const auto module = Module::open(base, silent);
  DataOptions options;
  options.validation = 0;
  options.test = 0;
  const Splits splits = read_data(HUB_SOURCE_DIR "/tests/data/curves/vader.tsv", options);
  REQUIRE(splits.train.items.size() == 800);
  Head head;
  head.pool = "mean";
  head.outputs = 2;
  const NamedTensors tensors = {
      {"head.weight", head_weight("classifier.weight", {2, 384}, std::sqrt(1.0 / 384))},
      {"head.bias", zeros({2})}};
  TrainJob job;
  job.network = module->program("main");
  adapt(job.network, head, tensors);
  module->use("main", job.network);
  const auto objective = class_objective({splits.train.classes, {}, 0});
  job.objective = objective.get();
  job.train = &splits.train;
  job.encode = [&](std::span<const Item* const> items, uint64_t, bool) {
    std::vector<Sample> samples(items.size());
    for (size_t i = 0; i < items.size(); ++i) samples[i].text = items[i]->text;
    return module->task().encode(samples);
  };
  job.options.rate = 2e-5;
  job.options.schedule = {.kind = "linear", .warmup = 0.1};
  CHECK(worst_difference(job, "minilm.json") < 1e-4);
}

TEST_CASE("EfficientNet-lite0 on Fashion-MNIST learns as in torch, step by step") {
  Silent silent;
  const auto module = default_module("efficientnet-lite0", silent);
  DataOptions options;
  options.validation = 0;
  options.test = 0;
  const Splits splits = read_data(HUB_SOURCE_DIR "/tests/data/curves/fashion", options);
  REQUIRE(splits.train.items.size() == 160);
  Head head;
  head.outputs = 10;
  const NamedTensors tensors = {
      {"head.weight", head_weight("_fc.weight", {10, 1280}, std::sqrt(1.0 / 1280))},
      {"head.bias", zeros({10})}};
  TrainJob job;
  job.network = module->program("main");
  adapt(job.network, head, tensors);
  const auto objective = class_objective({splits.train.classes, {}, 0});
  job.objective = objective.get();
  job.train = &splits.train;
  // Each pixel twice in both directions, four zero pixels around, three times the same channel.
  job.encode = [](std::span<const Item* const> items, uint64_t, bool) {
    Tensor x(DType::f32, {static_cast<int64_t>(items.size()), 3, 64, 64});
    for (int64_t i = 0; i < x.numel(); ++i) {
      const int64_t column = i % 64 - 4, row = i / 64 % 64 - 4, n = i / (3 * 64 * 64);
      const bool inside = column >= 0 && row >= 0 && column < 56 && row < 56;
      const auto& gray = items[static_cast<size_t>(n)]->gray;
      const float v = inside ? gray[static_cast<size_t>(row / 2 * 28 + column / 2)] : 0.0F;
      x.data<float>()[i] = (v - 127) / 128;
    }
    return std::vector<Tensor>{x};
  };
  job.options.rate = 2e-5;
  job.options.schedule = {.kind = "constant"};
  CHECK(worst_difference(job, "efficientnet_lite0.json") < 1e-4);
}

}  // namespace hub
