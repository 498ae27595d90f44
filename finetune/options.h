// Everything that can be said about a training run.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "finetune/optim/optimizer.h"
#include "finetune/optim/schedule.h"

namespace hub {

/// Names and values to be shown, in this order.
using Pairs = std::vector<std::pair<std::string, std::string>>;

struct TrainOptions {
  int epochs = 3;
  int batch = 16;
  double rate = 0;  ///< the highest learning rate; 0: one that suits the strategy
  /// full: all parameters; head: only the new head, on features computed once; lora: low-rank
  /// pairs beside the products, and the head; gradual: from the head down, one block more each
  /// epoch (ULMFiT).
  std::string strategy = "full";
  std::string freeze;       ///< parameters whose name contains one of these (by commas) stay
  bool norm_train = true;   ///< batch norms use and learn the statistics of the batch
  double layer_factor = 1;  ///< discriminative rates: each of `blocks` lower blocks learns slower
  int blocks = 3;           ///< by so much (2.6 in ULMFiT)
  int lora_rank = 8;
  OptimizerOptions optimizer;
  Schedule schedule{.kind = "linear", .warmup = 0.1};
  double label_smoothing = 0;
  /// "": all 1; "balanced": rows / (classes * rows of the class); or one number a class, by commas.
  std::string class_weights;
  double mixup = 0;     ///< alpha of the Beta distribution; 0: off. Pictures only
  std::string augment;  ///< "flip", "crop" or both by a comma. Pictures only
  int accumulate = 1;   ///< batches a step
  uint64_t seed = 1;
  bool shuffle = true;
  double time_budget = 0;    ///< seconds; 0: none
  int early_stop = 0;        ///< epochs without a better metric; 0: never
  double min_delta = 0;      ///< what counts as better
  bool recompute = false;    ///< activations are computed again on the way back, for less memory
  int checkpoint_every = 0;  ///< steps; 0: at the end of each epoch
  int loaders = 2;           ///< threads that prepare batches ahead of the step

  /// Throws Code::usage naming what is out of range.
  void check() const;
  /// All of it as names and values, for reports and for knowing a run again.
  Pairs pairs() const;
};

}  // namespace hub
