// The training loop: steps, evaluations, checkpoints. Knows programs and batches; what a row is,
// and what is made of the result, is the tuner's affair.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "finetune/checkpoint.h"
#include "finetune/data/dataset.h"
#include "finetune/objective.h"
#include "finetune/options.h"

namespace hub {

/// What a training run tells while it goes on.
struct TrainListener {
  virtual ~TrainListener() = default;
  struct Step {
    int64_t epoch, batch, batches, step;
    double loss;       ///< of this step
    double mean_loss;  ///< of the epoch so far
    double rate, gradient_norm, seconds, rows_per_second;
    double seconds_left;
  };
  virtual void step(const Step&) {}
  virtual void evaluated(int64_t /*epoch*/, int64_t /*step*/, double /*train_loss*/, const Metrics&,
                         bool /*best*/) {}
  virtual void checkpointed(int64_t /*step*/, const std::string& /*path*/) {}
  virtual void note(std::string_view) {}
};

/// Rows of a data set with how bad each is, the worst first.
using Hardest = std::vector<std::pair<double, const Item*>>;

/// Turns items into the network's inputs. Called from several threads.
using Encode = std::function<std::vector<Tensor>(std::span<const Item* const> items, uint64_t epoch,
                                                 bool training)>;

struct TrainJob {
  Program network;               ///< as adapt() leaves it: all parameters constants
  std::vector<ValueId> outputs;  ///< of the network: what the objective reads
  const Objective* objective = nullptr;
  Encode encode;
  const Dataset* train = nullptr;
  const Dataset* validation = nullptr;
  TrainOptions options;
  std::string device = "cpu";
  std::string work;      ///< folder of checkpoints and of the log; empty: none are kept
  std::string features;  ///< file for features that are computed once; empty: they stay in memory
  json identity;         ///< of the run, for resuming
  bool resume = false;
  const std::atomic<int>* stop = nullptr;  ///< not zero: save within a step and end
  TrainListener* listener = nullptr;
};

struct TrainResult {
  NamedTensors tuned;  ///< what differs from the network: parameters, statistics, the head
  Metrics metrics;     ///< of the best epoch, on the validation rows
  Position position;
  Hardest hardest;    ///< validation rows that are furthest off, at most 100
  std::string ended;  ///< "finished", "early-stop", "time-budget", "stopped"
  double train_loss = 0;
};

/// Throws Code::numeric, naming the tensor, when a loss or gradient is not a number: the step is
/// not applied and the last checkpoint is as it was.
TrainResult train(const TrainJob& job);

/// The network with `tuned` in place of its constants of the same names.
Program with_tensors(const Program& network, const NamedTensors& tuned);

/// Thrown when `stop` is set while a data set is gone through.
struct Stopped {};

/// Metrics of a network on a data set; `hardest`, when given, gets the rows that are furthest off.
Metrics measured(const Program& network, const std::string& device, const Encode& encode,
                 const Objective& objective, const Dataset& data, int loaders,
                 Hardest* hardest = nullptr, const std::atomic<int>* stop = nullptr);

/// Runs a network over a data set in batches of `batch` rows.
void run_over(
    const Program& network, const std::string& device, const Encode& encode, const Dataset& data,
    size_t batch, int loaders,
    const std::function<void(std::span<const Item* const>, std::span<const Tensor>)>& each,
    const std::atomic<int>* stop = nullptr);

}  // namespace hub
