// The tensors of a checkpoint on their way into a program, checked by name and shape.
#pragma once

#include "modules/network.h"

namespace hub {

class Weights {
 public:
  /// Both must outlive this.
  Weights(const NamedTensors& tensors, Program& program) : tensors_(tensors), program_(program) {}

  bool has(const std::string& name) const { return tensors_.contains(name); }
  /// The tensor as a float32 parameter of that name; -1 in `shape` stands for any size. Throws
  /// Code::refused naming the tensor, what was found and what was wanted.
  Var take(const std::string& name, const Shape& shape) const;

 private:
  const NamedTensors& tensors_;
  Program& program_;
};

}  // namespace hub
