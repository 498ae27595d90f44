// Between a network for prediction, whose parameters are constants, and one in training, whose
// parameters are states.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "runtime/import/import.h"
#include "runtime/program.h"

namespace hub {

/// Float constants that `trains` picks become states of the same name; returned are copies of their
/// numbers. Constants without a name of their own ("%7"), without dimensions, or that are settings
/// of an operator stay as they are. With `norm_train`, each batch_norm whose scale is picked uses
/// the statistics of its batch, and its running mean and variance become states that follow them
/// (momentum 0.9).
std::shared_ptr<NamedTensors> make_trainable(Program& program,
                                             const std::function<bool(std::string_view)>& trains,
                                             bool norm_train);

/// The way back: every state becomes a constant with its numbers from `states` (shared, not copied:
/// a program that outlives the next step wants a copy of them), batch_norm_train becomes
/// batch_norm.
void freeze_states(Program& program, const NamedTensors& states);

}  // namespace hub
