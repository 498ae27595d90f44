// The pass that finds attention in what exporters write.
#include <catch2/catch.hpp>

#include "runtime/ops/grad.h"
#include "runtime/passes/passes.h"
#include "runtime/runtime.h"
#include "tests/runtime/op_cases.h"
#include "tests/runtime/plain_run.h"

namespace hub {
namespace {

constexpr int64_t batch = 2, queries = 5, keys = 21, heads = 3, depth = 4;

/// How one exporter writes it.
struct Spelling {
  const char* name;
  bool found;
  std::string scale;  ///< "", "mul", "div" behind the product, "both" operands in front of it
  Shape bias;         ///< rank 0: none
  bool probabilities = false;  ///< are an output too
  int64_t axis = -1;
};

Program spelled(const Spelling& how) {
  Program p;
  const auto input = [&](std::string name, int64_t length) {
    const Spec spec{DType::f32, {batch, length, heads * depth}};
    return Var{&p, p.add_input(std::move(name), spec)};
  };
  const auto split = [&](Var x, int64_t length, std::vector<int64_t> perm) {
    return transpose(reshape(x, {batch, length, heads, depth}), std::move(perm));
  };
  const auto number = [&](float x) { return constant(p, f(x)); };
  Var q = split(input("q", queries), queries, {0, 2, 1, 3});
  Var k = split(input("k", keys), keys, {0, 2, 3, 1});
  const Var v = split(input("v", keys), keys, {0, 2, 1, 3});
  if (how.scale == "both") q = mul(q, number(0.7F)), k = mul(number(0.7F), k);
  Var scores = matmul(q, k);
  if (how.scale == "mul") scores = mul(scores, number(0.5F));
  if (how.scale == "div") scores = apply("div", {scores, number(2)});
  if (how.bias.rank() > 0) {
    Tensor bias = noise(how.bias, 9);
    for (int64_t i = 0; i < bias.numel(); i += 4) bias.data<float>()[i] = -3.4e38F;
    scores = add(constant(p, bias), scores);
  }
  const Var weights = softmax(scores, how.axis);
  const Var mixed = transpose(matmul(weights, v), {0, 2, 1, 3});
  p.outputs = {reshape(mixed, {batch, queries, heads * depth}).id};
  if (how.probabilities) p.outputs.push_back(weights.id);
  return p;
}

}  // namespace

TEST_CASE("attention is found in what exporters write") {
  const Spelling spellings[] = {
      {.name = "bare", .found = true},
      {.name = "scaled", .found = true, .scale = "mul"},
      {.name = "divided", .found = true, .scale = "div", .bias = {batch, 1, 1, keys}},
      {.name = "operands scaled", .found = true, .scale = "both", .bias = {1, 1, queries, keys}},
      {.name = "a bias a head", .found = true, .bias = {1, heads, queries, keys}},
      {.name = "a bias a sample", .found = true, .bias = {batch, heads, 1, keys}},
      {.name = "a bias of few dimensions", .found = false, .bias = {queries, keys}},
      {.name = "a bias a query", .found = false, .bias = {1, 1, queries, 1}},
      {.name = "weights wanted", .found = false, .probabilities = true},
      {.name = "over the queries", .found = false, .axis = 2}};
  const std::vector<Tensor> inputs = {noise({batch, queries, heads * depth}, 1),
                                      noise({batch, keys, heads * depth}, 2),
                                      noise({batch, keys, heads * depth}, 3)};
  for (const Spelling& how : spellings) {
    CAPTURE(how.name);
    const Program p = spelled(how);
    const Tensor wanted = plain_run(p, inputs)[0];
    Program special = p;
    std::vector<Spec> given, specs;
    for (const Tensor& t : inputs) given.push_back(t.spec());
    REQUIRE(specialize(special, given, specs));
    CHECK((special.ops.size() == 1 && special.ops[0].op->name == "attention") == how.found);
    CHECK(difference(plain_run(special, inputs)[0], wanted) < 1e-5);
    for (const char* device : {"reference", "cpu"})
      CHECK(difference(Session(p, {.device = device}).run(inputs)[0], wanted) < 1e-5);
  }
}

TEST_CASE("attention takes a bias that fits its scores, and has no gradient with one") {
  const auto biased = [](const Shape& bias) {
    Program p;
    const Var x{&p, p.add_input("x", {DType::f32, {2, 4, 6}})};
    p.outputs = {
        apply("attention", {x, x, x, {}, constant(p, noise(bias))}, {{"heads", int64_t{3}}}).id};
    return p;
  };
  const auto checked = [](Program p) {
    std::vector<Spec> specs;
    specialize(p, {{DType::f32, {2, 4, 6}}}, specs);
  };
  CHECK_NOTHROW(checked(biased({1, 3, 1, 4})));
  for (const Shape& bad : {Shape{1, 3, 4, 1}, Shape{2, 2, 4, 4}, Shape{4, 4}, Shape{3, 1, 1, 4}})
    CHECK_THROWS_WITH(checked(biased(bad)), Catch::Contains("a bias of"));
  Program p = biased({1, 3, 1, 4});
  const Var y{&p, p.outputs[0]};
  const Var loss = apply("reduce_sum", {y}, {{"keepdims", int64_t{0}}});
  CHECK_THROWS_WITH(append_backward(p, loss, {Var{&p, p.inputs[0]}}),
                    Catch::Contains("attention with a bias"));
}

}  // namespace hub
