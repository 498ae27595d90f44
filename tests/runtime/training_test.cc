// A network that learns, three ways: calls as they are written, the first of those steps kept as a
// program and run again, the same on the CPU device.
#include <catch2/catch.hpp>

#include "runtime/runtime.h"
#include "tests/runtime/op_cases.h"
#include "tests/runtime/plain_run.h"

namespace hub {
namespace {

constexpr int steps = 30;

/// Points of a plane, told apart by the circle they lie in or out of.
struct Points {
  Tensor at{DType::f32, {20, 2}}, label{DType::i64, {20}};
  Points() {
    const Tensor any = noise({20, 2}, 7);
    for (int64_t i = 0; i < 20; ++i) {
      const float x = any.data<float>()[2 * i], y = any.data<float>()[2 * i + 1];
      at.data<float>()[2 * i] = x;
      at.data<float>()[2 * i + 1] = y;
      label.data<int64_t>()[i] = x * x + y * y < 0.6F ? 1 : 0;
    }
  }
};

/// Weights of two layers, and what Adam remembers of each.
NamedTensors start() {
  const NamedTensors weights = {{"hidden/w", noise({2, 8}, 1)},
                                {"hidden/b", noise({8}, 2)},
                                {"head/w", noise({8, 2}, 3)},
                                {"head/b", noise({2}, 4)}};
  NamedTensors all = {{"step", i({0})}};
  for (const auto& [name, w] : weights) {
    all.emplace(name, w.clone());
    for (const char* slot : {"@m", "@v"}) {
      Tensor zeros(DType::f32, w.shape());
      std::fill_n(zeros.data<float>(), zeros.numel(), 0.0F);
      all.emplace(name + slot, zeros);
    }
  }
  return all;
}

/// Writes one training step on a tape; gives its loss.
Var write_step(Tape& tape, const NamedTensors& states, const Points& points) {
  const Var x = tape.input("x", points.at);
  const Var label = tape.input("label", points.label);
  std::map<std::string, Var> v;
  for (const auto& [name, numbers] : states) v[name] = tape.state(name, numbers);
  const Var hidden = unary("tanh", matmul(x, v["hidden/w"], v["hidden/b"]));
  const Var logits = matmul(unary("relu", hidden), v["head/w"], v["head/b"]);
  const Var loss =
      apply("nll_loss", {apply("log_softmax", {logits}, {{"axis", int64_t{1}}}), label});

  const std::vector<std::string> names = {"hidden/w", "hidden/b", "head/w", "head/b"};
  Vars wrt;
  for (const auto& name : names) wrt.push_back(v[name]);
  const Vars gradients = tape.gradients(loss, wrt);
  const Var rate = constant(*x.program, f(0.05F)), scale = constant(*x.program, f(1));
  const Var step = add(v["step"], constant(*x.program, i({1})));
  tape.becomes(v["step"], step);
  for (size_t k = 0; k < names.size(); ++k) {
    const Var m = v[names[k] + "@m"], second = v[names[k] + "@v"];
    const Vars next =
        apply(*find_op("adam"), {wrt[k], gradients[k], rate, scale, m, second, step}, {}, 3);
    tape.becomes(wrt[k], next[0]);
    tape.becomes(m, next[1]);
    tape.becomes(second, next[2]);
  }
  return loss;
}

struct Trained {
  std::vector<Tensor> losses;
  NamedTensors states;
};

Trained replayed(const std::string& bytes, const std::string& device, const Points& points) {
  Trained t{{}, start()};
  const auto states = std::make_shared<NamedTensors>(t.states);
  const auto kept = std::make_shared<std::string>(bytes);
  Session session(program_from_bytes(*kept, kept), {.device = device, .states = states});
  for (int k = 0; k < steps; ++k) t.losses.push_back(session.run({points.at, points.label})[0]);
  t.states = *states;
  return t;
}

}  // namespace

TEST_CASE("a training step is the same written, recorded, and on the cpu device") {
  const Points points;
  Trained written{{}, start()};
  std::string bytes;
  for (int k = 0; k < steps; ++k) {
    Tape tape("reference");
    const Var loss = write_step(tape, written.states, points);
    written.losses.push_back(tape[loss]);
    if (bytes.empty()) bytes = to_bytes(tape.program({loss}));
    written.states = tape.states();
  }
  const float first = *written.losses.front().data<float>();
  const float last = *written.losses.back().data<float>();
  CAPTURE(first, last);
  CHECK(last < 0.5F * first);

  const Trained recorded = replayed(bytes, "reference", points);
  const Trained fast = replayed(bytes, "cpu", points);
  for (int k = 0; k < steps; ++k) {
    const auto at = static_cast<size_t>(k);
    CAPTURE(k);
    CHECK(*recorded.losses[at].data<float>() == *written.losses[at].data<float>());
    CHECK(difference(fast.losses[at], written.losses[at]) < 1e-5);
  }
  for (const auto& [name, wanted] : written.states) {
    INFO(name);
    const Tensor& found = recorded.states.at(name);
    REQUIRE(found.spec() == wanted.spec());
    CHECK(std::equal(wanted.data<std::byte>(), wanted.data<std::byte>() + wanted.bytes(),
                     found.data<std::byte>()));
    CHECK(difference(fast.states.at(name), wanted) < 1e-5);
  }
}

}  // namespace hub
