// Concatenation and its inverses where they lie: nothing is copied, and nothing is written over
// that is still read.
#include <catch2/catch.hpp>

#include "runtime/ops/grad.h"
#include "runtime/passes/passes.h"
#include "runtime/runtime.h"
#include "tests/runtime/op_cases.h"
#include "tests/runtime/plain_run.h"

namespace hub {
namespace {

/// Steps of the CPU device's plan that copy for a concat, split or slice; the answers are the same
/// numbers as those of the reference.
int copies(const Program& p, const std::vector<Tensor>& inputs) {
  Session session(p);
  const auto wanted = plain_run(p, inputs);
  for (int run = 0; run < 2; ++run) {
    const auto got = session.run(inputs);
    for (size_t k = 0; k < wanted.size(); ++k) CHECK(difference(got[k], wanted[k]) < 1e-3);
  }
  const auto steps = session.profile(inputs, 1).steps;
  return static_cast<int>(std::count_if(steps.begin(), steps.end(), [](const StepTime& s) {
    return s.op == "concat" || s.op == "split" || s.op == "slice";
  }));
}

/// Of the program that `make` writes about an input of this shape.
int copies(const Shape& shape, Vars (*make)(Program&, Var)) {
  Program p;
  for (const Var& v : make(p, {&p, p.add_input("x", {DType::f32, shape})}))
    p.outputs.push_back(v.id);
  return copies(p, {noise(shape)});
}

Var join(const Vars& all, int64_t axis = 1) { return apply("concat", all, {{"axis", axis}}); }
Vars parts(Var v, size_t count) {
  return apply(*find_op("split"), {v}, {{"axis", 1}, {"count", static_cast<int64_t>(count)}},
               count);
}
Var conv(Program& p, Var v, int64_t from, int64_t to, uint32_t seed) {
  return apply("conv", {v, constant(p, noise({to, from, 3, 3}, seed))},
               {{"pads", std::vector<int64_t>{1, 1, 1, 1}}});
}
Var square(Var v) { return mul(v, v); }
/// A step that needs more memory than any other: so much may be alive elsewhere.
Var room(Program& p, Var x) {
  return apply("reduce_max", {square(mul(x, constant(p, noise({64, 1, 1, 1}))))});
}

}  // namespace

TEST_CASE("what is joined is written where it will lie") {
  static const Shape row{1, 16, 4, 4};
  SECTION("results of any calls") {
    CHECK(copies(row, [](Program&, Var x) {
            return Vars{join({square(x), neg(x), unary("exp", square(neg(x)))})};
          }) == 0);
  }
  SECTION("blocks of channels") {
    CHECK(copies(row, [](Program& p, Var x) {
            const Var y = join({conv(p, x, 16, 32, 1), unary("relu", conv(p, x, 16, 16, 2))});
            return Vars{conv(p, y, 48, 16, 3)};
          }) == 0);
  }
  SECTION("along the first dimension of several") {
    CHECK(copies({2, 16}, [](Program&, Var x) { return Vars{join({square(x), neg(x)}, 0)}; }) == 0);
  }
  SECTION("the whole is not written over while a part of it is read") {
    CHECK(copies(row, [](Program& p, Var x) {
            const Var a = neg(x);
            const Var whole = unary("relu", join({a, square(x)}));  // could take the whole's memory
            return Vars{square(whole), square(neg(a)), room(p, x)};
          }) == 0);
  }
  SECTION("nor while a view of a part is") {
    CHECK(copies(row, [](Program& p, Var x) {
            const Var a = neg(x);
            const Var seen = reshape(a, {1, 16, 16, 1});
            const Var whole = unary("relu", join({reshape(seen, {1, 16, 4, 4}), square(x)}));
            return Vars{square(whole), square(neg(seen)), room(p, x)};
          }) == 0);
  }
  SECTION("a part may be an output, and so may the whole") {
    CHECK(copies(row, [](Program&, Var x) {
            const Var a = square(x);
            const Var whole = join({a, neg(x)});
            return Vars{a, whole, unary("relu", whole)};
          }) == 0);
  }
  SECTION("an input") {
    CHECK(copies(row, [](Program&, Var x) {
            return Vars{join({square(x), x}), unary("relu", x)};
          }) == 0);
  }
  SECTION("one within another") {
    CHECK(copies(row, [](Program&, Var x) {
            const Var a = join({square(x), neg(x)});
            return Vars{join({unary("exp", x), a}), unary("relu", a)};
          }) == 0);
  }
}

TEST_CASE("what cannot lie in the whole is copied there") {
  static const Shape row{1, 16, 4, 4};
  SECTION("constants") {
    CHECK(copies(row, [](Program& p, Var x) {
            return Vars{join({constant(p, noise(row)), square(x)})};
          }) == 1);
  }
  SECTION("the same twice") {
    CHECK(copies(row, [](Program&, Var x) {
            const Var a = square(x);
            return Vars{join({a, neg(x), a})};
          }) == 1);
  }
  SECTION("one that is in another whole already") {
    CHECK(copies(row, [](Program&, Var x) {
            const Var a = square(x);
            return Vars{join({neg(x), a}), join({unary("exp", x), a})};
          }) == 1);
  }
  SECTION("where the whole would be alive too long") {
    CHECK(copies(row, [](Program&, Var x) {
            const Var a = square(x);
            const Var whole = unary("relu", join({a, neg(x)}));
            return Vars{square(whole), square(neg(a))};
          }) == 1);
  }
  SECTION("rows that do not lie one behind the other") {
    CHECK(copies({2, 16, 4, 4}, [](Program&, Var x) {
            return Vars{join({square(x), neg(x)})};
          }) == 1);
  }
  SECTION("parts that kernels would find at odd places") {
    CHECK(copies({1, 3, 5}, [](Program&, Var x) { return Vars{join({square(x), neg(x)})}; }) == 1);
  }
}

TEST_CASE("parts are read where they lie") {
  static const Shape row{1, 32, 4, 4};
  SECTION("of a result") {
    CHECK(copies(row, [](Program&, Var x) {
            const Vars p = parts(square(x), 2);
            return Vars{unary("relu", p[0]), mul(p[0], neg(p[1]))};
          }) == 0);
  }
  SECTION("of an input, while the whole is read as well") {
    CHECK(copies(row, [](Program&, Var x) {
            const Vars p = parts(x, 2);
            return Vars{square(neg(p[1])), unary("relu", x), p[0]};
          }) == 0);
  }
  SECTION("of blocks of channels, some of them joined again") {
    CHECK(copies(row, [](Program& p, Var x) {
            const Vars s = parts(unary("relu", conv(p, x, 32, 32, 1)), 2);
            const Var y = join({add(s[1], conv(p, s[1], 16, 16, 2)), unary("neg", s[0])});
            return Vars{conv(p, y, 32, 16, 3)};
          }) == 0);
  }
  SECTION("by a slice") {
    CHECK(copies(row, [](Program& p, Var x) {
            const auto at = [&](int64_t n) { return constant(p, i({n})); };
            const Var y = square(x);
            return Vars{neg(apply("slice", {y, at(16), at(100), at(1)})),
                        neg(apply("slice", {y, at(-16), at(-8), at(-3)}))};
          }) == 0);
  }
  SECTION("rows of each picture are copied") {
    CHECK(copies({2, 32, 4, 4}, [](Program& p, Var x) {
            const auto at = [&](int64_t n) { return constant(p, i({n})); };
            const Vars s = parts(square(x), 4);
            return Vars{neg(s[3]), neg(s[1]), neg(apply("slice", {neg(x), at(8), at(24), at(1)}))};
          }) == 2);
  }
}

TEST_CASE("a densely connected network copies nothing") {
  Program p;
  Vars all{square(Var{&p, p.add_input("x", {DType::f32, {1, 16, 6, 6}})})};
  for (int64_t layer = 0; layer < 4; ++layer) {
    const Var seen = layer == 0 ? all[0] : join(all);
    const auto channels = static_cast<int64_t>(all.size()) * 16;
    all.push_back(conv(p, unary("relu", seen), channels, 16, static_cast<uint32_t>(layer)));
  }
  p.outputs = {unary("relu", join(all)).id};
  CHECK(copies(p, {noise({1, 16, 6, 6})}) == 0);
}

TEST_CASE("a concatenation that begins as an earlier one begins with it") {
  Program p;
  const Var x{&p, p.add_input("x", {DType::f32, {2, 3}})};
  const Var a = neg(x), b = square(x);
  const Var two = join({x, a}), three = join({x, a, b}), other = join({x, a, b}, 0);
  const Var four = join({x, a, b, a});
  p.outputs = {two.id, three.id, other.id, four.id};
  const auto wanted = plain_run(p, {noise({2, 3})});
  nest_concats(p);
  p.check();
  std::vector<size_t> operands;
  for (const OpCall& c : p.ops)
    if (c.op->name == "concat") operands.push_back(c.in.size());
  CHECK(operands == std::vector<size_t>{2, 2, 3, 2});
  const auto got = plain_run(p, {noise({2, 3})});
  for (size_t k = 0; k < wanted.size(); ++k) CHECK(difference(got[k], wanted[k]) == 0);
}

}  // namespace hub
