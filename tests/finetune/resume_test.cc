// A run that was stopped and went on is the unbroken run, bit for bit, wherever it was stopped.
#include <catch2/catch.hpp>

#include "base/error.h"
#include "base/file.h"
#include "hub/manifest.h"
#include "tests/error_of.h"
#include "tests/finetune/tiny_run.h"
#include "tests/scratch.h"

namespace hub {
namespace {

struct Way {
  const char* name;
  TrainOptions options;
};

TrainOptions ways_options(const char* strategy, int epochs, const char* optimizer) {
  TrainOptions o;
  o.strategy = strategy;
  o.epochs = epochs;
  o.batch = 4;
  o.rate = 0.02;
  o.optimizer.kind = optimizer;
  return o;
}

/// 19 rows are 5 batches of 4, the last of 3; of two batches a step, 3 steps.
std::vector<Way> ways() {
  std::vector<Way> all;
  all.push_back({"full with batch norm", ways_options("full", 4, "adamw")});
  Way w{"two batches a step, averages, clipping, smoothing", ways_options("full", 7, "nesterov")};
  w.options.accumulate = 2;
  w.options.optimizer.ema = 0.9;
  w.options.optimizer.clip_norm = 1;
  w.options.label_smoothing = 0.1;
  all.push_back(w);
  w = {"head", ways_options("head", 4, "adam")};
  w.options.optimizer.ema = 0.9;
  all.push_back(w);
  all.push_back({"lora", ways_options("lora", 4, "lamb")});
  w = {"gradual, mixup, pull to the start", ways_options("gradual", 4, "rmsprop")};
  w.options.mixup = 0.4;
  w.options.layer_factor = 2.6;
  w.options.optimizer.l2sp = 0.01;
  all.push_back(w);
  return all;
}

/// All that a run left, without its times.
struct Left {
  TrainResult result;
  Checkpoint checkpoint;
  std::vector<TrainListener::Step> steps;
};

void check_same(const Left& a, const Left& b) {
  CHECK(difference(a.result.tuned, b.result.tuned) == "");
  CHECK(difference(a.checkpoint.states, b.checkpoint.states) == "");
  CHECK(difference(a.checkpoint.best, b.checkpoint.best) == "");
  CHECK(a.result.metrics.values == b.result.metrics.values);
  CHECK(a.result.metrics.confusion == b.result.metrics.confusion);
  CHECK(a.result.ended == b.result.ended);
  CHECK(a.result.train_loss == b.result.train_loss);
  const Position &p = a.checkpoint.position, &q = b.checkpoint.position;
  CHECK(std::tie(p.epoch, p.batch, p.step, p.loss_sum, p.best, p.best_epoch, p.worse, p.ended) ==
        std::tie(q.epoch, q.batch, q.step, q.loss_sum, q.best, q.best_epoch, q.worse, q.ended));
  REQUIRE(a.steps.size() == b.steps.size());
  for (size_t i = 0; i < a.steps.size(); ++i) {
    INFO("step " << i + 1);
    CHECK(a.steps[i].step == b.steps[i].step);
    CHECK(a.steps[i].loss == b.steps[i].loss);
    CHECK(a.steps[i].mean_loss == b.steps[i].mean_loss);
    CHECK(a.steps[i].rate == b.steps[i].rate);
    CHECK(a.steps[i].gradient_norm == b.steps[i].gradient_norm);
  }
}

Left unbroken(TinyRun& run) {
  const Scratch folder;
  Watch watch;
  Left left;
  left.result = run.go(watch, folder.path(), false);
  left.checkpoint = newest_of(folder.path(), run.job.identity);
  left.steps = watch.steps;
  return left;
}

/// Stopped as `first` says, then gone on to the end.
Left broken(TinyRun& run, Watch& first, const Scratch& folder) {
  const TrainResult half = run.go(first, folder.path(), false);
  CHECK(half.ended == "stopped");
  CHECK(checkpoint_files(folder.path()).size() <= 2);
  Watch second;
  Left left;
  left.result = run.go(second, folder.path(), true);
  left.checkpoint = newest_of(folder.path(), run.job.identity);
  left.steps = first.steps;
  left.steps.insert(left.steps.end(), second.steps.begin(), second.steps.end());
  return left;
}

}  // namespace

TEST_CASE("stopped after any step, or at the end of any epoch, a run ends as the unbroken one") {
  const int before = threads();
  for (const int count : {1, 2}) {
    set_threads(count);
    for (const Way& way : ways()) {
      TinyRun run(way.options);
      const Left whole = unbroken(run);
      REQUIRE(whole.steps.size() >= 20);
      for (int64_t k = 1; k <= static_cast<int64_t>(whole.steps.size()); ++k) {
        INFO(way.name << ", " << count << " threads, stopped after step " << k);
        const Scratch folder;
        Watch first;
        first.stop_at_step = k;
        check_same(whole, broken(run, first, folder));
        CHECK(first.steps.back().step == k);
      }
      for (int64_t k = 1; k <= way.options.epochs; ++k) {
        INFO(way.name << ", " << count << " threads, stopped after evaluation " << k);
        const Scratch folder;
        Watch first;
        first.stop_at_evaluation = k;
        check_same(whole, broken(run, first, folder));
      }
    }
  }
  set_threads(before);
}

TEST_CASE("stopped again and again, a run ends as the unbroken one") {
  TinyRun run(ways()[1].options);
  const Left whole = unbroken(run);
  const Scratch folder;
  std::vector<TrainListener::Step> steps;
  TrainResult result;
  for (int64_t k = 1; k <= 100; ++k) {
    Watch watch;
    watch.stop_at_step = k;
    result = run.go(watch, folder.path(), k > 1);
    steps.insert(steps.end(), watch.steps.begin(), watch.steps.end());
    if (result.ended != "stopped") break;
    CHECK(result.position.step == k);
  }
  check_same(whole, {result, newest_of(folder.path(), run.job.identity), steps});
}

TEST_CASE("asked to end while rows are evaluated or features are made, a run saves and goes on") {
  for (const char* strategy : {"full", "head"}) {
    TinyRun run(ways_options(strategy, 4, "adamw"), 19, 100);
    const Left whole = unbroken(run);
    // Evaluations and features encode rows that are not for training; each in turn asks for the
    // end.
    for (int k = 1; k <= 16; k += 3) {
      INFO(strategy << ", while other rows are encoded for the time " << k);
      const Scratch folder;
      Watch first;
      const auto plain = run.job.encode;
      std::atomic<int> seen{0};
      run.job.encode = [&](std::span<const Item* const> items, uint64_t epoch, bool training) {
        if (!training && ++seen == k) first.stop = 15;
        return plain(items, epoch, training);
      };
      Left left;
      const TrainResult half = run.go(first, folder.path(), false);
      run.job.encode = plain;
      if (half.ended != "stopped") {
        CHECK(k > 5);  // features: 1 batch of train, 4 of validation
        break;
      }
      CHECK_FALSE(checkpoint_files(folder.path()).empty());
      Watch second;
      left.result = run.go(second, folder.path(), true);
      left.checkpoint = newest_of(folder.path(), run.job.identity);
      left.steps = first.steps;
      left.steps.insert(left.steps.end(), second.steps.begin(), second.steps.end());
      check_same(whole, left);
    }
  }
}

namespace {

/// Gives the metrics of a script, one an evaluation from `next` on; the loss is the real one.
struct Scripted final : Objective {
  Scripted(const Objective& real, std::vector<double> script, size_t first)
      : real(real), script(std::move(script)), next(first) {}
  Var loss(Program& p, const Vars& outputs) const override { return real.loss(p, outputs); }
  std::vector<Tensor> targets(std::span<const Item* const> items, std::span<const Tensor> encoded,
                              double& weight) const override {
    return real.targets(items, encoded, weight);
  }
  std::vector<double> badness(std::span<const Item* const> items,
                              std::span<const Tensor> outputs) const override {
    return real.badness(items, outputs);
  }
  std::string metric(bool& lower) const override {
    lower = false;
    return "accuracy";
  }
  struct Said final : Measure {
    explicit Said(double value) { metrics.values = {{"accuracy", value}}; }
    void add(std::span<const Item* const>, std::span<const Tensor>) override {}
    Metrics result() const override { return metrics; }
    Metrics metrics;
  };
  std::unique_ptr<Measure> measure() const override {
    return std::make_unique<Said>(script.at(std::min(next++, script.size() - 1)));
  }
  const Objective& real;
  std::vector<double> script;
  mutable size_t next;
};

}  // namespace

TEST_CASE("patience ends a run where it should, resumed or not, and the best weights are kept") {
  const json wanted = parse_json(read_file(HUB_SOURCE_DIR "/tests/data/finetune/early_stop.json"));
  const auto script = wanted["metric_per_epoch"].get<std::vector<double>>();
  TrainOptions options = ways_options("full", static_cast<int>(script.size()), "adamw");
  options.schedule = {.kind = "constant"};
  TrainOptions until_best = options;
  until_best.epochs = wanted["best_epoch"];
  options.early_stop = wanted["patience"];
  options.min_delta = wanted["min_delta"];
  const auto stops = wanted["stops_after_epoch_1based"].get<int64_t>();

  TinyRun two(until_best);
  const Scripted first_two(*two.objective, script, 0);
  two.job.objective = &first_two;
  Watch ignored;
  const NamedTensors best = two.go(ignored, {}, false).tuned;

  TinyRun run(options);
  const auto train = [&](Watch& watch, size_t first, const std::string& work, bool resume) {
    const Scripted scripted(*run.objective, script, first);
    run.job.objective = &scripted;
    return run.go(watch, work, resume);
  };
  const auto check = [&](const TrainResult& result) {
    CHECK(result.ended == "early-stop");
    CHECK(result.position.epoch == stops);
    CHECK(result.position.best_epoch + 1 == wanted["best_epoch"].get<int64_t>());
    CHECK(difference(result.tuned, best) == "");
  };
  Watch watch;
  const Scratch folder;
  check(train(watch, 0, folder.path(), false));
  // At the end of each epoch; the last is the one at which patience is over.
  for (int64_t k = 1; k <= stops; ++k) {
    INFO("resumed after epoch " << k);
    const Scratch half;
    Watch one, other;
    one.stop_at_evaluation = k;
    const auto r = train(one, 0, half.path(), false);
    if (r.ended == "stopped") check(train(other, static_cast<size_t>(k), half.path(), true));
    CHECK(one.evaluations.size() + other.evaluations.size() == static_cast<size_t>(stops));
  }
  // Killed between the checkpoint of the epoch that ended it and the last one.
  const auto files = checkpoint_files(folder.path());
  REQUIRE(files.size() == 2);
  std::filesystem::remove(files[1]);
  Watch other;
  check(train(other, static_cast<size_t>(stops), folder.path(), true));
  CHECK(other.evaluations.empty());
}

TEST_CASE("a run that has ended is not trained further by --resume") {
  TinyRun run(ways_options("full", 2, "adamw"));
  const Scratch folder;
  Watch first, second;
  const TrainResult a = run.go(first, folder.path(), false);
  const TrainResult b = run.go(second, folder.path(), true);
  CHECK(second.steps.empty());
  CHECK(b.ended == "finished");
  CHECK(a.train_loss == b.train_loss);
  CHECK(a.metrics.values == b.metrics.values);
  CHECK(difference(a.tuned, b.tuned) == "");
}

TEST_CASE("a run that starts anew is not continued by what an older one left") {
  TinyRun run(ways_options("full", 4, "adamw"));
  const Scratch folder;
  Watch first, second, third;
  run.go(first, folder.path(), false);
  second.stop_at_step = 2;
  CHECK(run.go(second, folder.path(), false).ended == "stopped");
  CHECK(checkpoint_files(folder.path()).size() == 1);
  run.go(third, folder.path(), true);
  CHECK(third.steps.at(0).step == 3);
}

}  // namespace hub
