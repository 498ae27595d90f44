#include "runtime/program.h"

#include <catch2/catch.hpp>
#include <cstring>

#include "runtime/block.h"
#include "runtime/op.h"
#include "tests/error_of.h"
#include "tests/runtime/files.h"

using namespace hub;

namespace {

Program small() {
  Program p;
  p.name = "small";
  const Var x{&p, p.add_input("x", {DType::f32, {-1, 2}})};
  const Var w = constant(p, Tensor::floats({2}, {1, 2}), "w");
  const Var sum = apply("add", {x, w});
  const Var y = apply("clip", {sum, {}, constant(p, Tensor::scalar(3), "top")},
                      {{"note", std::string("n")},
                       {"sizes", std::vector<int64_t>{1, -2}},
                       {"scales", std::vector<double>{0.5}},
                       {"words", std::vector<std::string>{"a", ""}},
                       {"t", Tensor::ints({7})},
                       {"i", int64_t{-3}},
                       {"f", 2.5}});
  p.rename(y.id, "y");
  p.outputs = {y.id};
  return p;
}

Program from(const std::string& bytes) {
  // The sanitizers see a read past the end of a buffer of the exact size.
  auto copy = std::make_shared<std::vector<char>>(bytes.begin(), bytes.end());
  return program_from_bytes({copy->data(), copy->size()}, copy);
}

}  // namespace

TEST_CASE("program: names are unique and can be found") {
  Program p;
  const ValueId a = p.add_value("v"), b = p.add_value("v"), c = p.add_value("v"),
                d = p.add_value("");
  CHECK(p[a].name == "v");
  CHECK(p[b].name == "v~1");
  CHECK(p[c].name == "v~2");
  CHECK(p[d].name == "%3");
  CHECK(p.find("v~1") == b);
  CHECK(p.find("w") == absent);
  p.rename(b, "w");
  CHECK(p.find("w") == b);
  CHECK(p.find("v~1") == absent);
  p.rename(c, "w");
  CHECK(p[c].name == "w~1");
  p.rename(c, "w~1");
  CHECK(p.find("w~1") == c);
}

TEST_CASE("program: text") {
  CHECK(to_text(small()) == R"(program "small"
input x: float32[?, 2]
constant w: float32[2] = [1, 2]
constant top: float32[] = [3]
%2 = add(x, w)
y = clip(%2, -, top) f=2.5 i=-3 note="n" scales=[0.5] sizes=[1, -2] t=(int64[1] = [7]) words=["a", ""]
output y
)");
}

TEST_CASE("program: check names what does not hang together") {
  struct Case {
    void (*spoil)(Program&);
    std::string message;
  };
  const Case cases[] = {
      {[](Program& p) { std::swap(p.ops[0], p.ops[1]); },
       "clip '' reads '%2' before it is written"},
      {[](Program& p) { p.ops[1].out = p.ops[0].out; }, "writes '%2' a second time"},
      {[](Program& p) { p.ops[1].out = {p.find("w")}; }, "writes 'w' a second time"},
      {[](Program& p) { p.ops[0].in[0] = 99; }, "names value 99 of 5"},
      {[](Program& p) { p.ops[0].in[0] = -2; }, "names value -2"},
      {[](Program& p) { p.ops[0].in = {0}; }, "add '' has 1 inputs, add takes 2"},
      {[](Program& p) {
         p.ops[1].in = {0, 0, 0, 0};
       },
       "clip '' has 4 inputs"},
      {[](Program& p) { p.ops[0].out.clear(); }, "has 0 outputs"},
      {[](Program& p) {
         p.ops[0].out = {2, 3};
       },
       "has 2 outputs"},
      {[](Program& p) { p.ops[0].op = nullptr; }, "no operator"},
      {[](Program& p) { p.outputs = {absent}; }, "list of outputs names value -1"},
      {[](Program& p) { p.outputs.push_back(p.add_value("z")); }, "list of outputs reads 'z'"},
      {[](Program& p) { p.inputs.push_back(0); }, "list of inputs writes 'x'"},
  };
  CHECK_NOTHROW(small().check());
  for (const Case& c : cases) {
    Program p = small();
    c.spoil(p);
    CHECK_THAT(error_of(Code::refused, [&] { p.check(); }), Catch::Contains(c.message));
  }
}

TEST_CASE("program: to bytes and back") {
  const Program p = small();
  const std::string bytes = to_bytes(p);
  CHECK(to_bytes(p) == bytes);
  const Program q = from(bytes);
  CHECK(to_text(q) == to_text(p));
  CHECK(q.find("w") == p.find("w"));
  CHECK(q.outputs == p.outputs);
  CHECK(to_bytes(q) == bytes);
}

TEST_CASE("program: constants lie aligned in the bytes and are seen there") {
  Program p = small();
  p.outputs.push_back(p.add_constant("wide", Tensor::floats({3, 7}, std::vector<float>(21, 4))));
  p.outputs.push_back(p.add_constant("none", Tensor(DType::f32, {0, 3})));
  const std::string bytes = to_bytes(p);
  CHECK(bytes.size() % 64 == 0);
  const MappedFile file = mapped(bytes);
  const Program q = program_from_bytes(file.text(), file.owner());
  const auto* start = reinterpret_cast<const char*>(file.bytes().data());
  for (const Value& v : q.values) {
    if (!v.constant || v.constant.numel() == 0) continue;
    const auto offset = static_cast<const char*>(v.constant.raw()) - start;
    CHECK(offset > 0);
    CHECK(offset < static_cast<ptrdiff_t>(file.size()));
    CHECK(offset % 64 == 0);
  }
  CHECK(q[q.find("wide")].constant.to_floats() == std::vector<float>(21, 4));
  CHECK(q[q.find("none")].constant.shape() == Shape{0, 3});
}

TEST_CASE("program: cut and damaged bytes") {
  check_damage(to_bytes(small()), [](const std::string& bytes) { from(bytes).check(); });
}

TEST_CASE("program: a block has no states of its own") {
  auto p = std::make_shared<Program>();
  const Var x{p.get(), p->add_state("x", {DType::f32, {3}})};
  p->outputs = {apply("neg", {x}).id};
  CHECK_THAT(error_of(Code::refused, [&] { run_plainly(p, {}); }), Catch::Contains("state 'x'"));
}
