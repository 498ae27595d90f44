#include "finetune/search/sweep.h"

#include <chrono>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "finetune/checkpoint.h"
#include "finetune/trainer.h"
#include "hub/manifest.h"

namespace hub {
namespace {

using Clock = std::chrono::steady_clock;
double since(Clock::time_point t) {
  return std::chrono::duration<double>(Clock::now() - t).count();
}

/// trials.jsonl: the sweep's identity, then a line a trial; replaced as a whole, so never half.
class Ledger {
 public:
  Ledger(const SweepOptions& options, const json& identity)
      : path_(options.folder + "/trials.jsonl") {
    make_folders(options.folder);
    if (!exists(path_)) {
      text_ = json{{"sweep", identity}}.dump() + "\n";
      return;
    }
    if (!options.resume)
      fail(Code::usage, options.folder,
           " holds a sweep already; --resume goes on with it, another "
           "--work begins a new one");
    text_ = read_file(path_);
    try {
      for (std::string_view line : lines(text_)) known_.push_back(parse_json(std::string(line)));
      for (const auto& [key, value] : identity.items()) {
        const json& was = known_.at(0).at("sweep").value(key, json());
        if (was != value)
          fail(Code::usage, path_, " is of another sweep: ", key, " was ", was.dump(),
               ", now it is ", value.dump());
      }
    } catch (const json::exception&) {
      refuse();
    } catch (const std::out_of_range&) {
      refuse();
    }
  }

  /// Whether the trial was run before; it gets its result.
  bool find(Trial& trial) const {
    const auto at = static_cast<size_t>(trial.number);
    if (at >= known_.size()) return false;
    try {
      trial.ended = known_[at].at("ended");
      trial.seconds = known_[at].at("seconds");
      trial.error = known_[at].value("error", "");
      if (trial.error.empty()) trial.metric = known_[at].at("metric");
      if (known_[at].at("values") == to_json(trial).at("values")) return true;
    } catch (const json::exception&) {
    }
    refuse();
  }

  void add(const Trial& trial) {
    text_ += to_json(trial).dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
    write_file(path_, text_);
  }

 private:
  [[noreturn]] void refuse() const {
    fail(Code::refused, path_, " is not what this sweep wrote; another --work begins a new one");
  }

  std::string path_, text_;
  std::vector<json> known_;  ///< the identity, then the trials
};

}  // namespace

json to_json(const Trial& t) {
  json values = json::object();
  for (const auto& [name, value] : t.values) values[name] = value;
  json line = {{"trial", t.number}, {"values", values}, {"ended", t.ended}, {"seconds", t.seconds}};
  if (t.error.empty()) {
    line["metric"] = t.metric;
  } else {
    line["error"] = t.error;
  }
  return line;
}

std::string trial_folder(const std::string& folder, int number) {
  return concat(folder, "/trial-", number);
}

SweepResult sweep(const Space& space, const SweepOptions& options, const RunTrial& run,
                  const std::function<void(const Trial&, bool best)>& each) {
  const auto start = Clock::now();
  const auto search = make_search(options.method, space.size(), options.seed);
  json identity = options.identity;
  identity["method"] = search_method(options.method);
  identity["seed"] = options.seed;
  Ledger ledger(options, identity);
  SweepResult result;
  result.ended = "finished";
  for (int number = 1; number <= options.trials; ++number) {
    Trial trial;
    trial.number = number;
    trial.values = space.at(search->ask());
    if (!ledger.find(trial)) {
      const double left = options.time_budget - since(start);
      const bool late = options.time_budget > 0 && left <= 0;
      const bool stopped = options.stop != nullptr && options.stop->load() != 0;
      if (late || stopped) {
        result.ended = stopped ? "stopped" : "time-budget";
        break;
      }
      const auto began = Clock::now();
      try {
        run(trial, trial_folder(options.folder, number), options.time_budget > 0 ? left : 0);
      } catch (const Stopped&) {
        result.ended = "stopped";
        break;
      } catch (const Error& e) {
        trial.ended = "failed";
        trial.error = e.what();
      }
      trial.seconds = since(began);
      ledger.add(trial);
    }
    const bool failed = !trial.error.empty();
    const double cost = failed          ? std::numeric_limits<double>::infinity()
                        : options.lower ? trial.metric
                                        : -trial.metric;
    search->tell(cost);
    const bool better =
        !failed &&
        (result.best < 0 ||
         (options.lower ? trial.metric < result.trials[static_cast<size_t>(result.best)].metric
                        : trial.metric > result.trials[static_cast<size_t>(result.best)].metric));
    if (better && result.best >= 0)
      remove_checkpoints(
          trial_folder(options.folder, result.trials[static_cast<size_t>(result.best)].number));
    if (!better) remove_checkpoints(trial_folder(options.folder, number));
    result.trials.push_back(trial);
    if (better) result.best = static_cast<int>(result.trials.size()) - 1;
    each(trial, better);
  }
  return result;
}

}  // namespace hub
