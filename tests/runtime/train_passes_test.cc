// What the passes make of a training step: the same numbers, with less work and memory.
#include <catch2/catch.hpp>
#include <cmath>

#include "runtime/passes/passes.h"
#include "runtime/runtime.h"
#include "tests/runtime/op_cases.h"
#include "tests/runtime/plain_run.h"

namespace hub {
namespace {

/// A small residual network with relu and clip behind its batch norms; the loss and all gradients
/// are outputs, parameters are inputs.
struct Step {
  Program program;
  std::vector<Tensor> inputs;
  Vars parameters;

  Var input(const Tensor& t) {
    inputs.push_back(t);
    return {&program, program.add_input({}, t.spec())};
  }
  Var parameter(const Shape& shape, uint32_t seed) {
    parameters.push_back(input(noise(shape, seed)));
    return parameters.back();
  }
  Var conv_norm(Var x, int64_t in, int64_t out, uint32_t seed) {
    x = conv(x, parameter({out, in, 3, 3}, seed), {}, {.pads = {1, 1, 1, 1}});
    const Var scale = parameter({out}, seed + 1), bias = parameter({out}, seed + 2);
    const Tensor some = noise({out}, seed + 3);
    const Var mean = constant(program, some), variance = constant(program, noise({out}, seed + 4));
    return apply(*find_op("batch_norm_train"), {x, scale, bias, mean, variance}, {}, 5)[0];
  }

  Step() {
    Var x = input(noise({2, 3, 32, 32}, 1));
    x = unary("relu", conv_norm(x, 3, 20, 10));
    Var y = clip(conv_norm(x, 20, 20, 20), 0, 1.5);
    y = unary("relu", add(conv_norm(y, 20, 20, 30), x));
    y = add(y, conv_norm(y, 20, 20, 40));
    const Var loss = apply("reduce_mean", {mul(y, y)}, {{"keepdims", int64_t{0}}});
    program.outputs = {loss.id};
    for (const Var& g : append_backward(program, loss, parameters)) program.outputs.push_back(g.id);
  }
};

int count(const Program& p, std::string_view op) {
  int n = 0;
  for (const OpCall& call : p.ops) n += is(call, op) ? 1 : 0;
  return n;
}

}  // namespace

TEST_CASE("a training step keeps its numbers when norms are fused and computed again") {
  Step step;
  const auto wanted = plain_run(step.program, step.inputs);
  for (const char* device : {"reference", "cpu"}) {
    Session session(step.program, {.device = device});
    const auto got = session.run(step.inputs);
    for (size_t k = 0; k < got.size(); ++k) {
      CAPTURE(device, k);
      double size = 0;
      for (double v : wanted[k].to_floats()) size = std::max(size, std::fabs(v));
      CHECK(difference(got[k], wanted[k]) < 1e-4 * std::max(size, 0.1));
    }
  }
}

TEST_CASE("relu and clip and sums go into batch norms on both ways") {
  Step step;
  std::vector<Spec> in, specs;
  for (const Tensor& t : step.inputs) in.push_back(t.spec());
  REQUIRE(specialize(step.program, in, specs));
  const Program& p = step.program;
  CHECK(count(p, "batch_norm_train") == 0);
  CHECK(count(p, "batch_norm_train_held") == 4);
  CHECK(count(p, "batch_norm_grad_held") == 2);
  CHECK(count(p, "batch_norm_again") == 2);
  CHECK(count(p, "relu") + count(p, "clip") + count(p, "clip_grad") == 0);
  CHECK(count(p, "relu_grad") == 1);  // its result also goes to the residual
  CHECK_NOTHROW(p.check());
}

TEST_CASE("updates stand behind the last reader of what they write over") {
  Program p;
  const Var x{&p, p.add_input("x", {DType::f32, {4}})};
  const Var w{&p, p.add_state("w", {DType::f32, {4}})};
  const Var v{&p, p.add_state("v", {DType::f32, {4}})};
  const Var g = mul(x, w);
  const Var late = mul(unary("exp", g), w);
  const Var last = unary("exp", unary("exp", late));
  const Var one = constant(p, f(1));
  p.states[0].next = apply(*find_op("sgd"), {w, g, one, one})[0].id;
  p.states[1].next = apply(*find_op("sgd"), {v, g, one, one})[0].id;
  p.outputs = {last.id};
  hoist_updates(p);
  std::string order;
  for (const OpCall& call : p.ops) order += std::string(call.op->name) + " ";
  CHECK(order == "mul sgd exp mul sgd exp exp ");
}

}  // namespace hub
