// Runs of one session on several threads at once.
#include <atomic>
#include <catch2/catch.hpp>
#include <functional>
#include <thread>

#include "runtime/ops.h"
#include "runtime/session.h"
#include "tests/runtime/op_cases.h"
#include "tests/runtime/plain_run.h"
#include "tests/runtime/small_networks.h"
#include "tests/scratch.h"

namespace hub {
namespace {

/// Runs f(0) and f(1) on threads of their own.
void both(const std::function<void(size_t)>& f) {
  std::thread other([&] { f(1); });
  f(0);
  other.join();
}

/// Two threads run the session on inputs of their own until they have met inside, and some more;
/// the largest difference from what each of them wants.
double run_at_once(Session& session, const std::vector<Tensor>& inputs,
                   const std::vector<Tensor>& wanted) {
  constexpr int least = 20, most = 5000;
  std::atomic<double> worst = 0;
  both([&](size_t k) {
    std::vector<Tensor> outputs;
    for (int r = 0; r < least || (session.memory().arenas < 2 && r < most); ++r) {
      session.run({inputs[k]}, outputs);
      const double d = difference(outputs[0], wanted[k]);
      if (d > worst) worst = d;
    }
  });
  return worst;
}

}  // namespace

TEST_CASE("runs at once share the weights and give the numbers of one alone", "[threads]") {
  const int before = threads();
  set_threads(0);
  const size_t processors = static_cast<size_t>(threads());
  const Scratch scratch;
  for (const SmallNetwork& n : small_networks()) {
    SessionOptions options;
    options.pack_file = scratch / n.name;
    for (const int team : {1, 2}) {
      CAPTURE(n.name, team);
      set_threads(team);
      // The second one from the pack that the first has left.
      const auto made =
          team == 1 ? std::make_unique<Session>(n.program, options) : Session::load(options);
      REQUIRE(made);
      Session& session = *made;
      const std::vector<Tensor> inputs{n.input(1, 3), n.input(3, 4)};
      const std::vector<Tensor> wanted{session.run({inputs[0]})[0], session.run({inputs[1]})[0]};
      const size_t packed = session.memory().packed;
      CHECK(packed > 0);
      CHECK(session.memory().arenas == 1);
      CHECK(run_at_once(session, inputs, wanted) < 1e-6);
      CHECK(session.memory().arenas == std::min<size_t>(processors, 2));
      CHECK(session.memory().packed == packed);
    }
  }
  set_threads(before);
}

TEST_CASE("runs at once of a program in stages", "[threads]") {
  Program p;
  const Var x{&p, p.add_input("x", {DType::f32, {-1, 40}})};
  const Var y = matmul(x, constant(p, noise({40, 64}, 1)));
  const Var at = reshape(
      apply("nonzero", {apply("reduce_max", {unary("relu", y), constant(p, i({-1}))})}), {-1});
  const Var some = apply("gather", {y, at}, {{"axis", int64_t{0}}});
  p.outputs = {matmul(some, constant(p, noise({64, 64}, 2))).id};
  const std::vector<Tensor> inputs{noise({50, 40}, 3), noise({70, 40}, 4)};
  Session session(p);
  CHECK(run_at_once(session, inputs, {plain_run(p, {inputs[0]})[0], plain_run(p, {inputs[1]})[0]}) <
        1e-5);
}

TEST_CASE("runs that change a state wait for one another", "[threads]") {
  Program p;
  const ValueId count = p.add_state("count", {DType::f32, {1}});
  const Var next = add({&p, count}, constant(p, f({1}, {1})));
  p.states[0].next = next.id;
  p.outputs = {next.id};
  auto states = std::make_shared<NamedTensors>();
  states->emplace("count", f({1}, {0}));
  Session session(p, {.device = "cpu", .pack_file = {}, .states = states});
  constexpr int runs = 2000;
  both([&](size_t) {
    for (int r = 0; r < runs; ++r) session.run({});
  });
  CHECK(states->at("count").data<float>()[0] == 2 * runs);
  CHECK(session.memory().arenas == 1);
}

TEST_CASE("the number of threads holds whichever thread asks", "[threads]") {
  const int before = threads();
  for (const int wanted : {1, 3}) {
    set_threads(wanted);
    int found = 0;
    std::thread([&] { found = threads(); }).join();
    CHECK(found == wanted);
  }
  set_threads(before);
}

}  // namespace hub
