// The pass that moves transposes to where they vanish.
#include <catch2/catch.hpp>

#include "runtime/ops/grad.h"
#include "runtime/passes/passes.h"
#include "runtime/runtime.h"
#include "tests/runtime/op_cases.h"
#include "tests/runtime/plain_run.h"

namespace hub {
namespace {

const Attrs to_last{{"perm", std::vector<int64_t>{0, 2, 3, 1}}};
const Attrs to_first{{"perm", std::vector<int64_t>{0, 3, 1, 2}}};

Var last(Var v) { return apply("transpose", {v}, to_last); }
Var first(Var v) { return apply("transpose", {v}, to_first); }

int transposes(const Program& p) {
  return static_cast<int>(std::count_if(p.ops.begin(), p.ops.end(),
                                        [](const OpCall& c) { return c.op->name == "transpose"; }));
}

/// Runs the pass without and with shapes; the answers stay. Gives the transposes left by each.
std::pair<int, int> pushed(Program p, const std::vector<Tensor>& inputs) {
  const auto wanted = plain_run(p, inputs);
  std::pair<int, int> left;
  push_transposes(p, nullptr);
  p.check();
  left.first = transposes(p);
  auto got = plain_run(p, inputs);
  for (size_t k = 0; k < wanted.size(); ++k) CHECK(difference(got[k], wanted[k]) < 1e-6);
  std::vector<Spec> given, specs;
  for (const Tensor& t : inputs) given.push_back(t.spec());
  REQUIRE(specialize(p, given, specs));
  p.check();
  CHECK(specs.size() == p.values.size());
  left.second = transposes(p);
  got = plain_run(p, inputs);
  for (size_t k = 0; k < wanted.size(); ++k) CHECK(difference(got[k], wanted[k]) < 1e-6);
  return left;
}

using Left = std::pair<int, int>;

}  // namespace

TEST_CASE("a pair of transposes around calls that can work either way vanishes") {
  using Make = Vars (*)(Program&, Var);  // y is [2, 4, 5, 3] there, of a picture [2, 3, 4, 5]
  const std::vector<std::pair<const char*, Make>> cases = {
      {"nothing", [](Program&, Var y) { return Vars{y}; }},
      {"unary", [](Program&, Var y) { return Vars{apply("relu", {apply("neg", {y})})}; }},
      {"activation", [](Program&, Var y) { return Vars{apply("leaky_relu", {y})}; }},
      {"clip",
       [](Program& p, Var y) {
         return Vars{apply("clip", {y, constant(p, f(-0.5F)), constant(p, f(0.5F))})};
       }},
      {"cast",
       [](Program&, Var y) {
         const Var wide = apply("cast", {y}, {{"to", "float64"}});
         return Vars{apply("cast", {wide}, {{"to", "float32"}})};
       }},
      {"scalar", [](Program& p, Var y) { return Vars{mul(y, constant(p, f(3)))}; }},
      {"a constant a channel",
       [](Program& p, Var y) { return Vars{add(constant(p, noise({3})), y)}; }},
      {"a constant",
       [](Program& p, Var y) {
         return Vars{sub(y, constant(p, noise({4, 5, 3})))};
       }},
      {"prelu",
       [](Program& p, Var y) {
         return Vars{apply("prelu", {y, constant(p, noise({1, 1, 3}))})};
       }},
      {"twice the same", [](Program&, Var y) { return Vars{mul(y, apply("sigmoid", {y}))}; }},
      {"where",
       [](Program& p, Var y) {
         const Var zero = constant(p, f(0));
         return Vars{apply("where", {apply("less", {y, zero}), zero, y})};
       }},
      {"concat",
       [](Program&, Var y) {
         return Vars{apply("concat", {y, neg(y)}, {{"axis", -1}})};
       }},
      {"concat with a constant",
       [](Program& p, Var y) {
         return Vars{apply("concat", {constant(p, noise({2, 1, 5, 3})), y}, {{"axis", 1}})};
       }},
      {"split",
       [](Program& p, Var y) {
         return apply(*find_op("split"), {y, constant(p, i({1, 2}))}, {{"axis", 3}}, 2);
       }},
      {"slice",
       [](Program& p, Var y) {
         return Vars{apply("slice", {y, constant(p, i({1, -1})), constant(p, i({3, -9})),
                                     constant(p, i({1, -1})), constant(p, i({1, -1}))})};
       }},
      {"slice of the first dimensions",
       [](Program& p, Var y) {
         return Vars{apply("slice", {y, constant(p, i({0, 1})), constant(p, i({2, 3}))})};
       }},
      {"pad",
       [](Program& p, Var y) {
         const Var around = constant(p, i({0, 1, 2, 0, 0, 3, 1, 1}));
         return Vars{apply("pad", {y, around, constant(p, f(7))})};
       }},
      {"pad of some dimensions",
       [](Program& p, Var y) {
         return Vars{apply("pad", {y, constant(p, i({1, 2, 1, 0})), Var{}, constant(p, i({-1, 1}))},
                           {{"mode", "edge"}})};
       }},
      {"reduce",
       [](Program& p, Var y) {
         return Vars{mul(y, apply("reduce_mean", {y, constant(p, i({1, 2}))}))};
       }},
      {"softmax",
       [](Program&, Var y) {
         return Vars{apply("softmax", {y}, {{"axis", 2}})};
       }},
      {"quantized",
       [](Program& p, Var y) {
         const Var scale = constant(p, f({3}, {0.01F, 0.02F, 0.03F}));
         const Var zero = constant(p, t<uint8_t>({3}, {100, 110, 120}));
         const Var q = apply("quantize", {y, scale, zero}, {{"axis", 3}});
         return Vars{apply("dequantize", {q, scale, zero}, {{"axis", -1}})};
       }},
  };
  for (const auto& [name, make] : cases) {
    INFO(name);
    Program p;
    const Var x{&p, p.add_input("x", {DType::f32, {-1, 3, -1, -1}})};
    for (const Var& v : make(p, last(x))) p.outputs.push_back(first(v).id);
    CHECK(pushed(p, {noise({2, 3, 4, 5})}) == Left{0, 0});
  }
}

TEST_CASE("transposes that cannot vanish become one, or stay") {
  const auto left = [](auto make) {
    Program p;
    const Var x{&p, p.add_input("x", {DType::f32, {-1, 3, -1, -1}})};
    make(p, x);
    return pushed(p, {noise({2, 3, 4, 5})});
  };
  SECTION("two in a row, with a call in between") {
    CHECK(left([](Program& p, Var x) { p.outputs = {last(neg(last(x))).id}; }) == Left{1, 1});
  }
  SECTION("one in front of a call with two operands from it and another") {
    CHECK(left([](Program& p, Var x) { p.outputs = {add(last(x), last(neg(x))).id}; }) ==
          Left{1, 1});
  }
  SECTION("a reduction moves less behind it") {
    CHECK(left([](Program& p, Var x) {
            p.outputs = {apply("reduce_sum", {last(x), constant(p, i({2}))}, {{"keepdims", 0}}).id};
          }) == Left{1, 1});
  }
  SECTION("two readers that need it would make two of one") {
    CHECK(left([](Program& p, Var x) {
            const Var y = last(x);
            p.outputs = {apply("topk", {neg(y), constant(p, i({1}))}).id,
                         apply("topk", {apply("exp", {y}), constant(p, i({1}))}).id};
          }) == Left{1, 1});
  }
  SECTION("softmax stays along the last dimension, where its kernel is") {
    CHECK(left([](Program& p, Var x) { p.outputs = {first(apply("softmax", {last(x)})).id}; }) ==
          Left{2, 2});
  }
  SECTION("one of two ways ends at an inverse") {
    CHECK(left([](Program& p, Var x) {
            const Var y = apply("relu", {last(x)});
            p.outputs = {first(neg(y)).id, y.id};
          }) == Left{1, 1});
  }
  SECTION("an operand that is computed elsewhere keeps it") {
    CHECK(left([](Program& p, Var x) {
            const Var other = reshape(x, {-1, 4, 5, 3});
            p.outputs = {first(add(last(x), other)).id};
          }) == Left{2, 2});
  }
  SECTION("dimensions of 1 come and go on the way") {
    CHECK(left([](Program& p, Var x) {
            const Var y = reshape(last(x), {2, 1, 4, 5, 3});
            const Var z = apply("squeeze", {neg(y), constant(p, i({1}))});
            p.outputs = {first(z).id};
          }) == Left{2, 0});
  }
}

TEST_CASE("a transpose of dimensions of 1 is a reshape") {
  Program p;
  const Var x{&p, p.add_input("x", {DType::f32, {1, 3, -1, -1}})};
  p.outputs = {last(x).id};
  CHECK(pushed(p, {noise({1, 3, 1, 1})}) == Left{1, 0});
  CHECK(pushed(p, {noise({1, 3, 1, 2})}) == Left{1, 1});
}

TEST_CASE("operands with other dimensions of 1 meet") {
  Program p;  // [1, 6, 1, 7] by two ways to [1, 7, 6]
  const Var x{&p, p.add_input("x", {DType::f32, {1, 6, 1, -1}})};
  const Var a = reshape(last(x), {1, 7, 6});
  const Var b =
      apply("transpose", {reshape(neg(x), {1, 6, 7})}, {{"perm", std::vector<int64_t>{0, 2, 1}}});
  const Var both = apply("concat", {a, b}, {{"axis", 2}});
  p.outputs = {apply("transpose", {both}, {{"perm", std::vector<int64_t>{0, 2, 1}}}).id};
  CHECK(pushed(p, {noise({1, 6, 1, 7})}) == Left{3, 0});
}

TEST_CASE("a convolution with channels last ends as one with channels first") {
  Program p;
  const Var x{&p, p.add_input("x", {DType::f32, {-1, -1, -1, 3}})};
  const auto conv = [&](Var v, int64_t from, uint32_t seed) {
    const Var y = apply("conv", {first(v), constant(p, noise({4, from, 3, 3}, seed))},
                        {{"pads", std::vector<int64_t>{1, 1, 1, 1}}});
    return apply("relu", {add(last(y), constant(p, noise({4}, seed + 9)))});
  };
  p.outputs = {conv(conv(conv(x, 3, 1), 4, 2), 4, 3).id};
  CHECK(transposes(p) == 6);
  CHECK(pushed(p, {noise({2, 6, 5, 3})}) == Left{2, 2});
  Session session(p);
  CHECK(difference(session.run({noise({2, 6, 5, 3})})[0], plain_run(p, {noise({2, 6, 5, 3})})[0]) <
        1e-4);
}

}  // namespace hub
