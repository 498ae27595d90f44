// A network of which every operator is an output, beside the numbers of the framework that it is
// for.
#pragma once

#include "runtime/runtime.h"
#include "tests/runtime/plain_run.h"

namespace hub {

/// The outputs for x on every device against `answers`, which holds theirs one behind the other.
inline void check_answers(const Program& program, const Tensor& x, const Tensor& answers) {
  for (const char* device : {"reference", "cpu"}) {
    const auto found = Session(program, {.device = device}).run({x});
    int64_t at = 0;
    for (size_t i = 0; i < found.size(); ++i) {
      CAPTURE(device, program[program.outputs[i]].name);
      REQUIRE(at + found[i].numel() <= answers.numel());
      const Tensor wanted(DType::f32, found[i].shape(), answers.owner(),
                          answers.data<float>() + at);
      CHECK(difference(found[i], wanted) < 1e-5);
      at += found[i].numel();
    }
    CHECK(at == answers.numel());
  }
}

}  // namespace hub
