// The pass that makes one call of two.
#include <catch2/catch.hpp>

#include "runtime/passes/passes.h"
#include "runtime/runtime.h"
#include "tests/runtime/op_cases.h"
#include "tests/runtime/plain_run.h"

namespace hub {
namespace {

size_t count(const Program& p, std::string_view op) {
  return static_cast<size_t>(
      std::count_if(p.ops.begin(), p.ops.end(), [&](const OpCall& c) { return c.op->name == op; }));
}

}  // namespace

TEST_CASE("the same computed twice is computed once") {
  Program p;
  const Var x{&p, p.add_input("x", {DType::f32, {-1, 4}})};
  const Var y{&p, p.add_input("y", {DType::f32, {-1, 4}})};
  const Var one = constant(p, Tensor::scalar(1)), other = constant(p, Tensor::scalar(1));
  const auto half = [&](Var v, double alpha) {
    return apply("leaky_relu", {v}, {{"alpha", alpha}});
  };
  const Var sum = add(half(add(x, one), 0.5), half(add(x, one), 0.5));  // one chain of two calls
  const Var rest = add(half(x, 0.5), half(x, 0.25));                    // two: other attributes
  const Var more = add(add(y, one), add(y, other));          // two: other constants, equal or not
  p.outputs = {sum.id, rest.id, more.id, half(x, 0.25).id};  // an output keeps a call of its own
  const std::vector<Tensor> inputs{noise({3, 4}, 1), noise({3, 4}, 2)};
  const auto wanted = plain_run(p, inputs);
  share_calls(p);
  p.check();
  CHECK(count(p, "leaky_relu") == 1 + 2 + 1);
  CHECK(count(p, "add") == 1 + 1 + 1 + 3);
  const auto got = plain_run(p, inputs);
  for (size_t k = 0; k < wanted.size(); ++k) CHECK(difference(got[k], wanted[k]) == 0);
}

TEST_CASE("what is drawn twice stays two") {
  Program p;
  const Var x{&p, p.add_input("x", {DType::f32, {8}})};
  const OpDef* draw = nullptr;
  for (const OpDef* op : all_ops())
    if (op->random && op->min_inputs <= 1 && op->max_inputs != 0) draw = op;
  REQUIRE(draw != nullptr);
  const auto made = [&] {
    OpCall call;
    call.op = draw;
    call.in = {x.id};
    call.out = {p.add_value({})};
    p.ops.push_back(call);
    return call.out[0];
  };
  p.outputs = {made(), made()};
  const ValueId a = made(), b = made();
  p.outputs.push_back(apply("add", {Var{&p, a}, Var{&p, b}}).id);
  share_calls(p);
  CHECK(count(p, draw->name) == 4);
}

}  // namespace hub
