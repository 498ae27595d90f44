// A network for prediction becomes one that trains, and goes back: same numbers, its running
// statistics included.
#include "runtime/train.h"

#include <catch2/catch.hpp>

#include "base/error.h"
#include "runtime/grad.h"
#include "runtime/ops.h"
#include "runtime/runtime.h"
#include "tests/runtime/op_cases.h"
#include "tests/runtime/plain_run.h"

namespace hub {
namespace {

/// conv, batch norm, relu, mean, a linear layer: two classes of pictures [n, 2, 6, 6].
Program network() {
  Program p;
  const Var x{&p, p.add_input("x", {DType::f32, {-1, 2, 6, 6}})};
  auto named = [&](std::string name, Tensor t) {
    return constant(p, std::move(t), std::move(name));
  };
  Var h = conv(x, named("conv/w", noise({4, 2, 3, 3}, 1)), {}, {.strides = {2, 2}});
  h = batch_norm(h, named("norm/scale", f({4}, {1, 1.5F, 0.5F, 1})),
                 named("norm/bias", noise({4}, 2)), named("norm/mean", noise({4}, 3)),
                 named("norm/var", f({4}, {1, 0.5F, 2, 1})), 1e-3);
  h = mul(unary("relu", h), named("half", f(0.5F)));
  h = apply("resize", {h, {}, named("scales", f({4}, {1, 1, 2, 2}))});
  h = apply("flatten", {global_average(h)});
  const Var y = matmul(h, named("head/w", noise({4, 2}, 4)), named("head/b", noise({2}, 5)));
  p.rename(y.id, "y");
  p.outputs = {y.id};
  return p;
}

/// Appends the loss, the gradients and plain descent; the loss is the only output.
void add_step(Program& p, Var log_probabilities, float rate) {
  const Var label{&p, p.add_input("label", {DType::i64, {-1}})};
  const Var loss = apply("nll_loss", {log_probabilities, label});
  Vars wrt;
  std::vector<size_t> at;
  for (size_t i = 0; i < p.states.size(); ++i) {
    if (p.states[i].next != absent) continue;
    wrt.push_back({&p, p.states[i].value});
    at.push_back(i);
  }
  const Vars g = append_backward(p, loss, wrt);
  for (size_t k = 0; k < wrt.size(); ++k) {
    REQUIRE(g[k]);
    p.states[at[k]].next = apply("sgd", {wrt[k], g[k], constant(p, f(rate)), constant(p, f(1))}).id;
  }
  p.outputs = {loss.id};
}

const std::vector<Tensor> batch = {noise({6, 2, 6, 6}, 9), i({0, 1, 0, 1, 1, 0})};

/// The loss after each of ten steps on one batch.
std::vector<float> losses(const Program& step, const std::shared_ptr<NamedTensors>& states,
                          const std::string& device, const std::vector<Tensor>& inputs) {
  Session session(step, {.device = device, .states = states});
  std::vector<float> all;
  for (int k = 0; k < 10; ++k) all.push_back(session.run(inputs)[0].to_floats()[0]);
  return all;
}

std::vector<std::string> names(const NamedTensors& states) {
  std::vector<std::string> all;
  for (const auto& [name, t] : states) all.push_back(name);
  return all;
}

}  // namespace

TEST_CASE("a built network trains, and frozen again predicts as its statistics say") {
  for (const std::string device : {"reference", "cpu"}) {
    INFO(device);
    Program step = network();
    const auto states = make_trainable(
        step, [](std::string_view) { return true; }, true);
    CHECK(names(*states) == std::vector<std::string>{"conv/w", "head/b", "head/w", "norm/bias",
                                                     "norm/mean", "norm/scale", "norm/var"});
    CHECK(step.states.size() == states->size());
    Program trained = step;
    add_step(step, apply("log_softmax", {{&step, step.outputs[0]}}), 0.2F);
    step.check();
    const auto fell = losses(step, states, device, batch);
    CHECK(fell.back() < 0.9F * fell.front());
    CHECK(difference(states->at("norm/mean"), noise({4}, 3)) > 0.01);

    freeze_states(trained, *states);
    CHECK(trained.states.empty());
    trained.check();
    // The same network, written with the trained numbers.
    Program wanted = network();
    for (const auto& [name, t] : *states) wanted[wanted.find(name)].constant = t;
    const Tensor y = plain_run(wanted, {batch[0]})[0];
    CHECK(difference(plain_run(trained, {batch[0]})[0], y) == 0);
    CHECK(difference(Session(trained, {.device = device}).run({batch[0]})[0], y) < 1e-5);
  }
}

TEST_CASE("what is not picked stays a constant, and its norms keep their statistics") {
  Program p = network();
  const auto states = make_trainable(
      p, [](std::string_view n) { return n.starts_with("head/"); }, true);
  CHECK(names(*states) == std::vector<std::string>{"head/b", "head/w"});
  const Tensor before = plain_run(network(), {batch[0]})[0];
  Program frozen = p;
  freeze_states(frozen, *states);
  CHECK(difference(plain_run(frozen, {batch[0]})[0], before) == 0);
  add_step(p, apply("log_softmax", {{&p, p.outputs[0]}}), 0.2F);
  for (const OpCall& call : p.ops) CHECK(call.op->name != "conv_weight_grad");
  const auto fell = losses(p, states, "cpu", batch);
  CHECK(fell.back() < fell.front());
  // The numbers of the network itself were not trained.
  CHECK(difference(plain_run(network(), {batch[0]})[0], before) == 0);
}

TEST_CASE("norms in prediction mode train their scale and keep their statistics") {
  Program p = network();
  const auto states = make_trainable(
      p, [](std::string_view n) { return n.starts_with("norm/"); }, false);
  CHECK(names(*states) == std::vector<std::string>{"norm/bias", "norm/scale"});
  add_step(p, apply("log_softmax", {{&p, p.outputs[0]}}), 0.2F);
  const auto fell = losses(p, states, "cpu", batch);
  CHECK(fell.back() < fell.front());
}

TEST_CASE("an imported file trains") {
  Program p = import_file(concat(HUB_SOURCE_DIR, "/tests/data/ocr/classify.onnx"));
  const auto states = make_trainable(
      p, [](std::string_view) { return true; }, true);
  CHECK(names(*states) == std::vector<std::string>{"w"});
  const Tensor x = noise({4, 3, 16, 48}, 3);
  add_step(p, apply("log", {{&p, p.outputs[0]}}), 1.0F);
  const auto fell = losses(p, states, "cpu", {x, i({0, 1, 1, 0})});
  CHECK(fell.back() < fell.front());
  Program lost = network();
  make_trainable(
      lost, [](std::string_view) { return true; }, false);
  CHECK_THROWS_AS(freeze_states(lost, {}), Error);
}

}  // namespace hub
