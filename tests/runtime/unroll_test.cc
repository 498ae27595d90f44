// Transposed convolutions as convolutions and a shuffle of pixels.
#include <catch2/catch.hpp>

#include "runtime/passes/passes.h"
#include "runtime/runtime.h"
#include "tests/runtime/op_cases.h"
#include "tests/runtime/plain_run.h"

namespace hub {
namespace {

/// in -> middle -> out channels by two transposed convolutions with windows of 2 and a step behind
/// each; `inside` is a pointwise convolution between them.
Program upscaler(int64_t in, int64_t middle, int64_t out, bool inside = false) {
  Program p;
  const Var x{&p, p.add_input("x", {DType::f32, {-1, in, -1, -1}})};
  const auto twice = [&](Var from, int64_t a, int64_t b, int seed) {
    return apply("conv_transpose",
                 {from, constant(p, noise({a, b, 2, 2}, seed)), constant(p, noise({b}, seed + 1))},
                 {{"strides", std::vector<int64_t>{2, 2}}});
  };
  Var y = unary("relu", twice(x, in, middle, 1));
  if (inside) y = unary("tanh", conv(y, constant(p, noise({middle, middle, 1, 1}, 7)), {}, {}));
  p.outputs = {unary("sigmoid", twice(y, middle, out, 3)).id};
  return p;
}

std::vector<std::string_view> operators(const Program& p) {
  std::vector<std::string_view> names;
  for (const OpCall& call : p.ops) names.push_back(call.op->name);
  return names;
}

}  // namespace

TEST_CASE("pixels are shuffled last, where few numbers are left") {
  using Names = std::vector<std::string_view>;
  const struct {
    Program program;
    Names wanted;
  } cases[] = {
      {upscaler(32, 24, 1),
       {"conv", "relu", "conv", "sigmoid", "depth_to_space", "depth_to_space"}},
      // Many channels stay behind the shuffle: in front of it they would cost more.
      {upscaler(8, 4, 4), {"conv", "relu", "depth_to_space", "conv", "sigmoid", "depth_to_space"}},
      {upscaler(16, 8, 1, true),
       {"conv", "relu", "depth_to_space", "conv", "tanh", "conv", "sigmoid", "depth_to_space"}}};
  for (const auto& [program, wanted] : cases) {
    Program optimized = program;
    optimize(optimized);
    CHECK(operators(optimized) == wanted);
    const Tensor x = noise({2, program[program.inputs[0]].declared.shape[1], 5, 7}, 5);
    const Tensor answer = plain_run(program, {x})[0];
    CHECK(difference(plain_run(optimized, {x})[0], answer) < 1e-5);
    for (const char* device : {"reference", "cpu"})
      CHECK(difference(Session(program, {.device = device}).run({x})[0], answer) < 1e-5);
  }
}

}  // namespace hub
