// A sweep: many trials with different settings, each of them kept, the best one found.
#pragma once

#include <atomic>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "finetune/search/search.h"
#include "finetune/search/space.h"

namespace hub {

using json = nlohmann::json;

struct Trial {
  int number = 0;  ///< from 1
  Pairs values;
  double metric = 0;
  std::string ended;  ///< as of the training run, or "failed"
  std::string error;  ///< why it failed
  double seconds = 0;
};
json to_json(const Trial& trial);

struct SweepOptions {
  std::string method = "random";  ///< as search_method() takes it
  int trials = 20;
  double time_budget = 0;  ///< seconds for the trials of one call; 0: none
  uint64_t seed = 1;
  bool lower = false;  ///< a lower metric is better
  std::string folder;  ///< holds trials.jsonl, and a folder a trial
  json identity;       ///< of the sweep, for going on with it
  bool resume = false;
  const std::atomic<int>* stop = nullptr;
};

struct SweepResult {
  std::vector<Trial> trials;
  int best = -1;      ///< index into trials; -1: all failed
  std::string ended;  ///< "finished", "time-budget" or "stopped"
};

/// Trains with these values in a work folder of its own within `seconds` (0: no limit); fills
/// metric and ended. An Error makes a failed trial; Stopped ends the sweep.
using RunTrial = std::function<void(Trial& trial, const std::string& work, double seconds)>;

/// Where trial `number` works.
std::string trial_folder(const std::string& folder, int number);

/// Trials that trials.jsonl has already are not run again. Checkpoints of trials that are not the
/// best so far are removed. Throws Code::usage when the folder holds another sweep, or one that was
/// not to be resumed.
SweepResult sweep(const Space& space, const SweepOptions& options, const RunTrial& run,
                  const std::function<void(const Trial&, bool best)>& each);

}  // namespace hub
