// Sweeps: what is run, what is not run again, what is told; and what a rate range test suggests.
#include "finetune/search/sweep.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "finetune/search/lr_find.h"
#include "tests/error_of.h"
#include "tests/scratch.h"

namespace hub {
namespace {

const Space space("x=0.0:1.0,kind=a|b");

/// Best at x = 0.7; values above 0.9 fail.
struct Trials {
  int runs = 0, stop_at = 0;
  std::vector<std::string> said;
  SweepResult go(const SweepOptions& options, const Space& over = space) {
    return sweep(
        over, options,
        [&](Trial& trial, const std::string& work, double) {
          if (++runs == stop_at) throw Stopped{};
          make_folders(work);
          write_file(work + "/checkpoint-000001-step-1-0123456789abcdef.safetensors", "x");
          const double x = std::stod(trial.values[0].second);
          if (x > 0.9) fail(Code::numeric, "x is too high");
          trial.metric = (options.lower ? 1 : -1) * std::fabs(x - 0.7);
          trial.ended = "finished";
        },
        [&](const Trial& t, bool best) { said.push_back(concat(t.number, best ? " best" : "")); });
  }
};

bool same(const Trial& a, const Trial& b) {
  return a.number == b.number && a.values == b.values && a.metric == b.metric &&
         a.error == b.error && a.ended == b.ended && a.seconds == b.seconds;
}

}  // namespace

TEST_CASE("a sweep finds the best, tells failures, and goes on where it ended") {
  const std::string method = GENERATE("random", "cma-es", "population");
  const bool lower = GENERATE(true, false);
  const Scratch folder, other;
  SweepOptions options{.method = method,
                       .trials = 30,
                       .seed = 3,
                       .lower = lower,
                       .folder = folder.path(),
                       .identity = {{"base", "b"}}};
  Trials whole;
  const SweepResult all = whole.go(options);
  REQUIRE(all.trials.size() == 30);
  CHECK(all.ended == "finished");
  const Trial& best = all.trials[static_cast<size_t>(all.best)];
  for (const Trial& t : all.trials) {
    if (t.error.empty()) CHECK(std::fabs(best.metric) <= std::fabs(t.metric));
    if (!t.error.empty()) CHECK(t.error == "x is too high");
    CHECK((t.ended == "failed") == !t.error.empty());
  }
  CHECK(lines(read_file(folder / "trials.jsonl")).size() == 31);
  // Checkpoints of the best trial alone are left.
  for (const Trial& t : all.trials)
    CHECK(exists(trial_folder(folder.path(), t.number) +
                 "/checkpoint-000001-step-1-0123456789abcdef.safetensors") ==
          (t.number == best.number));

  options.folder = other.path();
  Trials first;
  first.stop_at = 8;
  const SweepResult half = first.go(options);
  CHECK(half.ended == "stopped");
  CHECK(half.trials.size() == 7);
  options.resume = true;
  Trials second;
  const SweepResult rest = second.go(options);
  CHECK(second.runs == 23);
  REQUIRE(rest.trials.size() == 30);
  CHECK(rest.best == all.best);
  for (size_t i = 0; i < 30; ++i) {
    CHECK(rest.trials[i].values == all.trials[i].values);
    CHECK(rest.trials[i].metric == all.trials[i].metric);
    if (i < 7) CHECK(same(rest.trials[i], half.trials[i]));
  }
}

TEST_CASE("a sweep ends when its time is over, or when it is asked to") {
  const Scratch folder;
  SweepOptions options{.trials = 1000000, .time_budget = 0.05, .folder = folder.path()};
  Trials timed;
  const SweepResult some = timed.go(options);
  CHECK(some.ended == "time-budget");
  CHECK(some.trials.size() < 1000000);
  const std::atomic<int> stop{15};
  options.stop = &stop;
  options.resume = true;
  Trials none;
  CHECK(none.go(options).ended == "stopped");
  CHECK(none.runs == 0);
}

TEST_CASE("a folder with another sweep, or none, is refused") {
  const Scratch folder;
  SweepOptions options{.trials = 2, .folder = folder.path(), .identity = {{"base", "b"}}};
  Trials trials;
  trials.go(options);
  const auto refused = [&](Code code) { return error_of(code, [&] { trials.go(options); }); };
  CHECK(refused(Code::usage).find("holds a sweep already") != std::string::npos);
  options.resume = true;
  options.identity["base"] = "c";
  CHECK(refused(Code::usage).find("base was \"b\", now it is \"c\"") != std::string::npos);
  options.identity["base"] = "b";
  options.method = "cma-es";
  CHECK(refused(Code::usage).find("method was \"random\"") != std::string::npos);
  options.method = "random";
  const std::string good = read_file(folder / "trials.jsonl");
  const size_t second = good.find('\n') + 1;
  for (const std::string& bad :
       {std::string(), std::string("{}\n"), std::string("[1]\n"), good.substr(0, second) + "{}\n",
        good.substr(0, second) + "7\n",
        good.substr(0, second) +
            R"({"trial":1,"values":{"x":"9"},"ended":"finished","seconds":1,"metric":1})"}) {
    INFO(bad);
    write_file(folder / "trials.jsonl", bad);
    CHECK_FALSE(refused(Code::refused).empty());
  }
}

TEST_CASE("a rate range test suggests where the loss falls fastest, and a tenth of its least") {
  RateTest test;
  for (int i = 0; i <= 80; ++i) {
    const double rate = std::pow(10, -7 + i / 10.0), t = std::log10(rate);
    // Flat, a fall that is steepest at 1e-3, least near 1e-2, up behind.
    const double loss = 2 - std::tanh((t + 3) * 2) + (t > -1.5 ? std::pow(t + 1.5, 2) * 4 : 0);
    test.points.push_back({rate, loss, loss});
  }
  suggest_rates(test);
  CHECK(std::log10(test.steepest) == Approx(-3).margin(0.11));
  CHECK(std::log10(test.tenth) == Approx(-2.5).margin(0.2));
  RateTest flat;
  for (int i = 0; i < 10; ++i) flat.points.push_back({std::pow(10, i), 1, 1.0 + i});
  suggest_rates(flat);
  CHECK(flat.steepest == 0);
  RateTest few;
  few.points = {{1, 1, 1}, {2, 0, 0}};
  suggest_rates(few);
  CHECK(few.tenth == 0);
}

}  // namespace hub
