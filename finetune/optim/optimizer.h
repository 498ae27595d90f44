// The optimizer part of a training step: from a loss to the updates of the parameters, all as
// operators of one program.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "runtime/runtime.h"

namespace hub {

struct OptimizerOptions {
  std::string kind = "adamw";  ///< sgd, momentum, nesterov, adam, adamw, rmsprop, adagrad,
                               ///< adadelta, lamb
  double weight_decay = 0.01;
  bool decay_all = false;  ///< else tensors of one dimension (biases, norms) do not decay
  double momentum = 0.9, beta1 = 0.9, beta2 = 0.999, rho = 0.9, alpha = 0.99;
  double epsilon = 0;     ///< 0: the optimizer's own
  double clip_norm = 0;   ///< global norm; 0: off
  double clip_each = 0;   ///< norm of each tensor's gradient; 0: off
  double clip_value = 0;  ///< of each number of a gradient; 0: off
  double l2sp = 0;        ///< pull towards where each parameter started (Li et al. 2018)
  double ema = 0;         ///< decay of the average of the parameters; 0: none is kept

  /// Throws Code::usage naming what is out of range.
  void check() const;
};

/// Prefixes of the states that belong to the optimizer, before the parameter's name.
constexpr std::string_view ema_prefix = "ema:", start_prefix = "start:", sum_prefix = "sum:";

/// Appends gradients of `loss` with respect to every state that `trains` picks, and its update.
/// New states (slots, averages) are added to `states` where they are not there yet. Inputs added:
/// "rate" float32 [], "step" int64 [] (from 1). `rate_factor` gives what a parameter's rate is
/// multiplied by. Of accumulated steps, all but the last only add to states "sum:…". Returns the
/// program's outputs: the sums of squares of the gradients, float32 [parameters], in the order of
/// the names returned.
struct StepOutputs {
  Var squares;
  std::vector<std::string> names;
};
struct StepKind {
  bool add = false;   ///< this program only adds to the sums
  bool take = false;  ///< this program adds its gradient to the sums, uses them and clears them
  bool recompute = false;  ///< as of append_backward
};
StepOutputs append_step(Program& program, Var loss, NamedTensors& states,
                        const OptimizerOptions& options,
                        const std::function<bool(std::string_view)>& trains,
                        const std::function<double(std::string_view)>& rate_factor,
                        StepKind kind = {});

}  // namespace hub
