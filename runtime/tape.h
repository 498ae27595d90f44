// Calls that run as they are written. The tape of what ran is a Program: the gradient is the same
// append_backward, and saving a step for later is saving that program.
#pragma once

#include <map>

#include "runtime/import/import.h"
#include "runtime/op.h"

namespace hub {

class Device;

class Tape {
 public:
  /// `device` as in SessionOptions.
  explicit Tape(const std::string& device = "cpu");
  Tape(const Tape&) = delete;
  Tape& operator=(const Tape&) = delete;

  Var input(std::string name, Tensor numbers);
  /// A parameter or another state: a state of the recorded program.
  Var state(std::string name, Tensor numbers);
  /// What a state becomes at the end of the step.
  void becomes(Var state, Var next);
  /// The numbers of any value.
  const Tensor& operator[](Var v) const;
  /// d loss / d v for each, as append_backward gives them.
  Vars gradients(Var loss, const Vars& wrt);

  /// The step so far as a program: inputs, states and calls as they were made; `outputs` become its
  /// outputs.
  Program program(const Vars& outputs) const;
  /// The states as they are after the step: what `becomes` said, or as they came.
  NamedTensors states() const;

 private:
  friend Vars apply(Program&, const OpDef&, const Vars&, Attrs, size_t, std::string);
  void run(const OpCall& call);

  Program program_;
  std::vector<Tensor> numbers_;
  Device& device_;
};

/// Runs one call on a device: plain tensors in and out.
std::vector<Tensor> run_call(Device& device, const OpCall& call, std::span<const Tensor* const> in);

}  // namespace hub
