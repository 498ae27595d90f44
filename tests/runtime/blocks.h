// For writing blocks in tests.
#pragma once

#include <memory>

#include "runtime/op.h"
#include "runtime/ops.h"

namespace hub {

/// The program that `f` makes of `inputs` values: Vars f(const Vars&).
template <class F>
BlockPtr block_of(size_t inputs, F&& f) {
  auto program = std::make_shared<Program>();
  Vars in;
  for (size_t i = 0; i < inputs; ++i) in.push_back({program.get(), program->add_input({}, {})});
  for (const Var& v : f(in)) program->outputs.push_back(v.id);
  return program;
}

}  // namespace hub
