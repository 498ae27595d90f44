// Counts of arithmetic, and what a profile says of each step.
#include "runtime/profile.h"

#include <catch2/catch.hpp>

#include "runtime/burn.h"
#include "runtime/flops.h"
#include "runtime/runtime.h"
#include "tests/runtime/op_cases.h"

namespace hub {
namespace {

Spec real(const Shape& shape) { return {DType::f32, shape}; }

struct Row {
  const char* op;
  Attrs attrs;
  std::vector<Spec> in, out;
  double flops;
};

/// The profile of one call on zeros.
Profile profile_of(std::string_view op, DType dtype) {
  Program p;
  Var x{&p, p.add_input("x", {dtype, {-1, 8}})};
  p.outputs = {apply(op, {x}).id};
  Session session(std::move(p));
  Tensor t(dtype, {4, 8});
  std::fill_n(static_cast<std::byte*>(t.raw()), t.bytes(), std::byte{});
  return session.profile({t}, 3);
}

}  // namespace

TEST_CASE("the arithmetic of a call follows from its shapes") {
  const Row rows[] = {
      {"conv", {}, {real({2, 6, 9, 9}), real({8, 3, 3, 3})}, {real({2, 8, 7, 7})}, 2. * 784 * 27},
      {"quantized_conv",
       {},
       {real({1, 4, 5, 5}), {}, {}, real({2, 4, 1, 1}), {}},
       {real({1, 2, 5, 5})},
       2. * 50 * 4},
      {"conv_transpose",
       {},
       {real({1, 4, 5, 5}), real({4, 3, 2, 2})},
       {real({1, 3, 10, 10})},
       2. * 100 * 12},
      {"conv_input_grad",
       {},
       {real({2, 8, 7, 7}), real({8, 3, 3, 3}), real({2, 3, 9, 9})},
       {real({2, 3, 9, 9})},
       2. * 784 * 27},
      {"conv_weight_grad",
       {},
       {real({2, 3, 9, 9}), real({2, 8, 7, 7}), real({8, 3, 3, 3})},
       {real({8, 3, 3, 3}), real({8})},
       2. * 784 * 27},
      {"conv_weight_grad",  // of the bias alone
       {},
       {real({2, 3, 9, 9}), real({2, 8, 7, 7}), real({8, 3, 3, 3})},
       {{}, real({8})},
       0},
      {"matmul", {}, {real({5, 3, 7}), real({7, 4})}, {real({5, 3, 4})}, 2. * 60 * 7},
      {"matmul", {{"trans_a", int64_t{1}}}, {real({7, 3}), real({7, 4})}, {real({3, 4})}, 2. * 84},
      {"matmul", {{"trans_a", int64_t{1}}}, {real({7}), real({7, 4})}, {real({4})}, 2. * 28},
      {"attention",
       {},
       {real({2, 3, 8}), real({2, 5, 8}), real({2, 5, 12})},
       {real({2, 3, 12})},
       2. * 2 * 3 * 5 * 20},
      {"lstm",
       {},
       {real({6, 2, 3}), real({1, 16, 3}), real({1, 16, 4})},
       {real({6, 1, 2, 4})},
       2. * 12 * (48 + 64)},
      {"fluid_gru", {}, {real({9, 12}), real({4, 12})}, {real({9, 4})}, 2. * 9 * 48},
      {"add", {}, {real({9}), real({9})}, {real({9})}, 0},
      {"conv", {}, {real({0, 6, 9, 9}), real({8, 3, 3, 3})}, {real({0, 8, 7, 7})}, 0},
  };
  for (const Row& row : rows) {
    INFO(row.op << " -> " << row.flops);
    OpCall call;
    call.op = find_op(row.op);
    REQUIRE(call.op != nullptr);
    call.attrs = row.attrs;
    CHECK(flops_of(call, row.in, row.out) == row.flops);
  }
}

TEST_CASE("a profile has the steps of the plan in order, with their arithmetic") {
  Program p;
  Var x{&p, p.add_input("x", {DType::f32, {-1, 6}})};
  Var y = apply("softmax", {apply("matmul", {x, constant(p, noise({6, 4}))})});
  p.outputs = {apply("matmul", {y, constant(p, noise({4, 3}))}).id};
  Session session(std::move(p));
  const Profile profile = session.profile({noise({5, 6})}, 4);
  CHECK(profile.runs.size() == 4);
  CHECK_FALSE(profile.stages);
  CHECK(profile.peak > 1e8);
  CHECK(profile.parameters == 4 * (24 + 12));
  double end = 0;
  std::vector<std::pair<std::string, double>> work;
  for (const StepTime& s : profile.steps) {
    CHECK(s.begin >= end - 1e-9);
    CHECK(s.took >= s.ms);
    CHECK_FALSE(s.how.empty());
    end = s.begin + s.took;
    if (s.op != "reorder") work.emplace_back(s.op, s.flops);
  }
  const decltype(work) wanted = {{"matmul", 2. * 20 * 6}, {"softmax", 0}, {"matmul", 2. * 15 * 4}};
  CHECK(work == wanted);
}

TEST_CASE("a step that the reference runs says why") {
  const Profile fast = profile_of("tanh", DType::f32);
  REQUIRE(fast.steps.size() == 1);
  CHECK(fast.steps[0].why.empty());
  const Profile wide = profile_of("tanh", DType::f64);
  REQUIRE(wide.steps.size() == 1);
  CHECK(wide.steps[0].how == "reference");
  CHECK(wide.steps[0].why == "no kernel of its own for tanh of float64");
  const Profile rare = profile_of("floor", DType::f32);
  REQUIRE(rare.steps.size() == 1);
  CHECK(rare.steps[0].why == "no kernel of its own for floor");
}

TEST_CASE("a program that runs in stages has whole runs only") {
  Program p;
  Var x{&p, p.add_input("x", {DType::f32, {-1}})};
  p.outputs = {apply("nonzero", {x}).id};
  Session session(std::move(p));
  const Profile profile = session.profile({noise({7})}, 2);
  CHECK(profile.stages);
  CHECK(profile.steps.empty());
  CHECK(profile.runs.size() == 2);
}

TEST_CASE("the burner's work is that of all threads") {
  set_threads(1);
  const double one = burn();
  set_threads(2);
  CHECK(burn() == 2 * one);
  set_threads(0);
}

}  // namespace hub
