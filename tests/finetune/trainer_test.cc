// The training loop: what it refuses before and during a run, and that no row is lost.
#include "finetune/trainer.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <cmath>

#include "base/error.h"
#include "tests/error_of.h"
#include "tests/finetune/tiny_run.h"
#include "tests/scratch.h"

namespace hub {

TEST_CASE("numbers that are none end a run before the step is applied") {
  const std::string strategy = GENERATE("full", "head", "lora");
  TrainOptions options;
  options.strategy = strategy;
  options.epochs = 2;
  options.batch = 4;
  options.rate = 0.01;
  options.shuffle = false;
  options.checkpoint_every = 1;
  for (const float bad : {std::nanf(""), INFINITY}) {
    INFO(strategy << ", " << bad);
    const Scratch folder, good;
    TinyRun run(options);
    const auto plain = run.job.encode;
    // Of the third batch, in training.
    run.job.encode = [&](std::span<const Item* const> items, uint64_t epoch, bool training) {
      auto inputs = plain(items, epoch, training);
      const bool of_training = !items.empty() && items[0] >= run.train.items.data() &&
                               items[0] < run.train.items.data() + run.train.items.size();
      for (size_t i = 0; of_training && i < items.size(); ++i)
        if (items[i] == &run.train.items[8]) inputs[0].data<float>()[72 * i + 5] = bad;
      return inputs;
    };
    if (strategy == "head") run.job.options.augment = "flip";  // no features computed before
    Watch watch;
    const std::string said = error_of(Code::numeric, [&] { run.go(watch, folder.path(), false); });
    CHECK(said.find("step 3: row 8: a number of its input is ") == 0);
    CHECK(watch.steps.size() == 2);
    const Checkpoint last = newest_of(folder.path(), run.job.identity);
    CHECK(last.position.step == 2);
    if (strategy == "head") {  // the same when features are computed
      run.job.options.augment.clear();
      Watch none;
      CHECK(error_of(Code::numeric, [&] { run.go(none, {}, false); }).find("row 8: ") == 0);
      run.job.options.augment = "flip";
    }
    // With good data it goes on from there, as if nothing had been.
    run.job.encode = plain;
    Watch second, third;
    const auto mended = run.go(second, folder.path(), true);
    CHECK(second.steps.at(0).step == 3);
    CHECK(difference(mended.tuned, run.go(third, good.path(), false).tuned) == "");
  }
}

TEST_CASE("a step with a gradient that is no number leaves every state as it was") {
  for (const char* kind :
       {"sgd", "momentum", "nesterov", "adam", "adamw", "rmsprop", "adagrad", "adadelta", "lamb"}) {
    INFO(kind);
    TinyRun run;
    Program p = run.job.network;
    const auto trains = [](std::string_view n) { return n != "norm/mean" && n != "norm/var"; };
    const auto states = make_trainable(p, trains, true);
    const Var loss = run.objective->loss(p, {{&p, p.outputs[0]}});
    const auto step = append_step(p, loss, *states, {.kind = kind, .clip_norm = 1}, trains,
                                  [](std::string_view) { return 1.0; });
    p.outputs = {loss.id, step.squares.id};
    Session session(p, {.device = "cpu", .pack_file = {}, .states = states});
    std::vector<const Item*> items;
    for (const Item& item : run.train.items) items.push_back(&item);
    std::vector<Tensor> in = tiny_encode(items);
    double weight = 0;
    for (Tensor& t : run.objective->targets(items, in, weight)) in.push_back(t);
    in.push_back(Tensor::scalar(static_cast<float>(weight)));
    in.push_back(Tensor::scalar(0.01F));
    in.push_back(Tensor::ints({1}).reshaped({}));
    const auto copy = [&] {
      NamedTensors all;
      for (const auto& [name, t] : *states) all.emplace(name, t.clone());
      return all;
    };
    const NamedTensors start = copy();
    session.run(in);
    const NamedTensors after = copy();
    CHECK(difference(start, after) != "");
    in[0].data<float>()[72] = NAN;
    session.run(in);
    CHECK(difference(after, *states) == "");
  }
}

TEST_CASE("a gradient that is no number is named, and the step is not applied") {
  const std::string strategy = GENERATE("full", "head", "lora");
  TrainOptions options;
  options.strategy = strategy;
  options.batch = 4;
  options.rate = 0.01;
  options.accumulate = 2;
  options.checkpoint_every = 1;
  options.shuffle = false;
  TinyRun run(options);
  struct Poisoned final : Objective {
    explicit Poisoned(const Objective& real) : real(real) {}
    Var loss(Program& p, const Vars& outputs) const override { return real.loss(p, outputs); }
    std::vector<Tensor> targets(std::span<const Item* const> items, std::span<const Tensor> encoded,
                                double& weight) const override {
      auto all = real.targets(items, encoded, weight);
      const bool third = std::any_of(items.begin(), items.end(),
                                     [](const Item* i) { return i->source == "row 13"; });
      for (Tensor& t : all)
        if (third && t.dtype() == DType::f32) t.data<float>()[0] = NAN;
      return all;
    }
    std::unique_ptr<Measure> measure() const override { return real.measure(); }
    std::vector<double> badness(std::span<const Item* const> i,
                                std::span<const Tensor> o) const override {
      return real.badness(i, o);
    }
    std::string metric(bool& lower) const override { return real.metric(lower); }
    const Objective& real;
  };
  const Poisoned poisoned(*run.objective);
  run.job.objective = &poisoned;
  const Scratch folder;
  Watch watch;
  const std::string said = error_of(Code::numeric, [&] { run.go(watch, folder.path(), false); });
  INFO(said);
  CHECK(said.find("step 2: the gradient of '") == 0);
  CHECK(said.find("the step was not applied, the last checkpoint is as it was") !=
        std::string::npos);
  CHECK(watch.steps.size() == 1);
  CHECK(newest_of(folder.path(), run.job.identity).position.step == 1);
}

TEST_CASE("a run that diverges ends with the last good checkpoint") {
  TrainOptions options;
  options.epochs = 40;
  options.batch = 4;
  options.rate = 1000;
  options.optimizer.kind = "momentum";
  options.optimizer.momentum = 1;
  options.schedule = {.kind = "constant"};
  options.checkpoint_every = 1;
  options.norm_train = false;
  TinyRun run(options);
  // A loss without a bound: the squares of the outputs, uphill.
  struct Uphill final : Objective {
    explicit Uphill(const Objective& real) : real(real) {}
    Var loss(Program& p, const Vars& outputs) const override {
      const Var l = real.loss(p, outputs);
      const Var square =
          apply("reduce_sum", {mul(outputs[0], outputs[0])}, {{"keepdims", int64_t{0}}});
      return add(l, mul(square, constant(p, Tensor::scalar(-1.0F))));
    }
    std::vector<Tensor> targets(std::span<const Item* const> i, std::span<const Tensor> e,
                                double& w) const override {
      return real.targets(i, e, w);
    }
    std::unique_ptr<Measure> measure() const override { return real.measure(); }
    std::vector<double> badness(std::span<const Item* const> i,
                                std::span<const Tensor> o) const override {
      return real.badness(i, o);
    }
    std::string metric(bool& lower) const override { return real.metric(lower); }
    const Objective& real;
  };
  const Uphill uphill(*run.objective);
  run.job.objective = &uphill;
  const Scratch folder;
  Watch watch;
  const std::string said = error_of(Code::numeric, [&] { run.go(watch, folder.path(), false); });
  CHECK(said.find("step ") != std::string::npos);
  const Checkpoint last = newest_of(folder.path(), run.job.identity);
  for (const auto& [name, t] : last.states) {
    INFO(name);
    if (t.dtype() == DType::f32)
      for (float v : t.values<float>()) REQUIRE(std::isfinite(v));
  }
}

TEST_CASE("a last batch of one row trains, and every validation row counts") {
  for (const int batch : {2, 4, 64}) {
    for (const int accumulate : {1, 2}) {
      INFO("batch " << batch << ", accumulate " << accumulate);
      TrainOptions options;
      options.epochs = 2;
      options.batch = batch;
      options.rate = 0.01;
      options.accumulate = accumulate;
      const auto rows = static_cast<size_t>(batch) * (batch == 64 ? 1 : 5) + 1;
      TinyRun run(options, rows, rows);
      Watch watch;
      const TrainResult result = run.go(watch, {}, false);
      const auto batches = static_cast<int64_t>(rows) / batch + 1;
      CHECK(watch.steps.back().batch == batches);
      for (const auto& s : watch.steps) CHECK(std::isfinite(s.loss));
      int64_t counted = 0;
      for (const auto& row : result.metrics.confusion)
        for (int64_t n : row) counted += n;
      CHECK(counted == static_cast<int64_t>(rows));
      for (const auto& [name, t] : result.tuned) {
        INFO(name);
        for (float v : t.values<float>()) REQUIRE(std::isfinite(v));
      }
    }
  }
}

TEST_CASE("a run that cannot fit the machine is refused before its first step, with both figures") {
  TrainOptions options;
  options.batch = 1 << 20;
  options.rate = 0.01;
  TinyRun run(options, 3000, 0);
  // [rows, 1] becomes [rows, 2^20], 12 GB at 3000 rows, kept for the way back as often as the
  // machine has room for it, and twice more.
  const auto memory =
      static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  Program p;
  const Var x{&p, p.add_input("x", {DType::f32, {-1, 2, 6, 6}})};
  const Var mean = apply("reduce_mean", {apply("flatten", {x}), constant(p, Tensor::ints({1}))},
                         {{"keepdims", int64_t{1}}});
  Tensor wide(DType::f32, {1, 1 << 20});
  std::fill_n(wide.data<float>(), wide.numel(), 1.0F);
  Var h = matmul(mean, constant(p, wide, "wide"));
  for (uint64_t i = 0; i < memory / (12ULL << 30) + 2; ++i) h = unary("tanh", h);
  const Var sum =
      apply("reduce_mean", {h, constant(p, Tensor::ints({1}))}, {{"keepdims", int64_t{1}}});
  p.outputs = {matmul(sum, constant(p, random_tensor({1, 3}, 1), "last/w")).id};
  adapt(p, Head{.features = {}, .outputs = 3}, {}, 1);
  run.job.network = p;
  Watch watch;
  const std::string said = error_of(Code::refused, [&] { run.go(watch, {}, false); });
  INFO(said);
  CHECK(said.find(" MiB for its values and ") != std::string::npos);
  CHECK(said.find("it may take ") != std::string::npos);
  CHECK(watch.steps.empty());
}

TEST_CASE("no rows, or nothing that trains, is refused") {
  TrainOptions options;
  options.rate = 0.01;
  TinyRun none(options, 0);
  Watch watch;
  CHECK(error_of(Code::usage, [&] { none.go(watch, {}, false); }) ==
        "there are no rows to train on");
  options.freeze = "conv,norm,middle,last,head";
  TinyRun frozen(options);
  CHECK(error_of(Code::usage, [&] { frozen.go(watch, {}, false); }) ==
        "nothing trains: every parameter is frozen");
}

}  // namespace hub
