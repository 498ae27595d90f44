// The parts of the operator `while`: while.cc says what it means, while_grad.cc its gradient,
// while_import.cc what it is in files.
#pragma once

#include "runtime/block.h"
#include "runtime/ops/kernel.h"

namespace hub {

/// The parts of a call.
struct Loop {
  BlockPtr body;
  size_t carried, captured, scans;
  bool history;

  Loop(const Attrs& attrs, size_t inputs);
  size_t before(size_t k) const { return carried + scans + k; }  ///< the history of a carried value
  size_t rounds() const { return carried + scans + carried; }
};

/// One number or truth, without dimensions.
template <class T>
Tensor single(T value) {
  Tensor t(dtype_of<T>(), {});
  *t.data<T>() = value;
  return t;
}

void grad_while(Grad& g);
void onnx_loop(ImportNode& n);
void onnx_scan(ImportNode& n);

}  // namespace hub
