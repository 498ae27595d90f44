#include "finetune/search/lr_find.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace hub {
namespace {

constexpr double lowest = 1e-7, highest = 10, kept = 0.9;
constexpr int64_t most_steps = 100;

/// Smooths the losses and asks for the end when they have blown up.
class Watcher final : public TrainListener {
 public:
  Watcher(RateTest& test, const std::atomic<int>* outer, TrainListener* next)
      : test_(test), outer_(outer), next_(next) {}

  void step(const Step& s) override {
    average_ = kept * average_ + (1 - kept) * s.loss;
    const double smoothed =
        average_ / (1 - std::pow(kept, static_cast<double>(test_.points.size() + 1)));
    test_.points.push_back({s.rate, s.loss, smoothed});
    best_ = test_.points.size() == 1 ? smoothed : std::min(best_, smoothed);
    if (smoothed > 4 * best_) {
      diverged = true;
      stop = 1;
    }
    if (s.step >= most_steps || (outer_ != nullptr && outer_->load() != 0)) stop = 1;
    if (next_ != nullptr) next_->step(s);
  }
  void note(std::string_view text) override {
    if (next_ != nullptr) next_->note(text);
  }

  std::atomic<int> stop{0};
  bool diverged = false;

 private:
  RateTest& test_;
  const std::atomic<int>* outer_;
  TrainListener* next_;
  double average_ = 0, best_ = 0;
};

}  // namespace

void suggest_rates(RateTest& test) {
  const auto& p = test.points;
  if (p.size() < 3) return;
  const auto least = std::min_element(
      p.begin(), p.end(), [](const auto& a, const auto& b) { return a.smoothed < b.smoothed; });
  test.tenth = least->rate / 10;
  // Slopes over the logarithm of the rate, up to the least loss.
  double steepest = 0;
  for (size_t i = 1; i + 1 < p.size() && p.data() + i <= &*least; ++i) {
    const double slope =
        (p[i + 1].smoothed - p[i - 1].smoothed) / std::log(p[i + 1].rate / p[i - 1].rate);
    if (slope < steepest) {
      steepest = slope;
      test.steepest = p[i].rate;
    }
  }
}

RateTest lr_find(const Installed& base, const Splits& splits, TrainOptions options,
                 TunerOptions how) {
  options.epochs = 1;
  options.rate = highest;
  options.schedule = {.kind = "range", .end = lowest / highest, .steps = most_steps};
  options.early_stop = 0;
  Splits data = splits;
  data.validation.items.clear();
  RateTest test;
  Watcher watcher(test, how.stop, how.listener);
  const std::atomic<int>* outer = how.stop;
  how.work.clear();
  how.stop = &watcher.stop;
  how.listener = &watcher;
  try {
    Tuner(base, how).fit(data, options);
  } catch (const Error& e) {
    if (e.code() != Code::numeric || test.points.empty()) throw;
    watcher.diverged = true;
  }
  const bool asked = outer != nullptr && outer->load() != 0;
  test.ended = asked ? "stopped" : watcher.diverged ? "diverged" : "finished";
  suggest_rates(test);
  return test;
}

}  // namespace hub
