// A session in its steady state: nothing is allocated, and neither the size of the team nor that of
// the batch changes an answer.
#include <catch2/catch.hpp>
#include <cstring>

#include "runtime/session.h"
#include "tests/runtime/allocations.h"
#include "tests/runtime/plain_run.h"
#include "tests/runtime/small_networks.h"

namespace hub {
namespace {

/// Sample `at` of a batch.
Tensor sample(const Tensor& batch, int64_t at) {
  Shape shape = batch.shape();
  const size_t bytes = batch.bytes() / static_cast<size_t>(shape[0]);
  shape[0] = 1;
  Tensor one(batch.dtype(), shape);
  std::memcpy(one.raw(), batch.data<std::byte>() + static_cast<size_t>(at) * bytes, bytes);
  return one;
}

}  // namespace

// Counted is what hub's own code allocates, and the C++ library for it. oneDNN makes a map of its
// arguments at each call of a primitive; that is its own affair.
TEST_CASE("a run allocates nothing once its plan and its outputs are there") {
  for (const SmallNetwork& n : small_networks()) {
    Session session(n.program);
    std::vector<Tensor> outputs;
    for (const int64_t batch : {1, 4, 1}) {
      CAPTURE(n.name, batch);
      const std::vector<Tensor> inputs{n.input(batch)};
      const auto wanted = session.run(inputs);
      session.run(inputs, outputs);
      const void* before = outputs[0].raw();
      size_t ours = 0;
      {
        const CountAllocations count;
        for (int k = 0; k < 3; ++k) session.run(inputs, outputs);
        ours = count.ours();
      }
      CHECK(ours == 0);
      CHECK(outputs[0].raw() == before);
      CHECK(difference(outputs[0], wanted[0]) == 0);
      const CountAllocations count;
      session.run(inputs);
      CHECK(count.ours() > 0);  // its outputs
    }
  }
}

TEST_CASE("outputs that somebody keeps, or of another shape, are made anew") {
  const SmallNetwork n = small_networks().at(1);
  Session session(n.program);
  std::vector<Tensor> outputs{Tensor(), Tensor::scalar(1)};
  session.run({n.input(2, 1)}, outputs);
  REQUIRE(outputs.size() == 1);
  const Tensor kept = outputs[0];
  const Tensor copy = kept.clone();
  session.run({n.input(2, 2)}, outputs);
  CHECK(difference(kept, copy) == 0);
  CHECK(difference(outputs[0], copy) > 0);
  session.run({n.input(3, 2)}, outputs);
  CHECK(outputs[0].shape()[0] == 3);
}

TEST_CASE("the team and the batch change no answer") {
  const int before = threads();
  for (const SmallNetwork& n : small_networks()) {
    set_threads(1);
    Session session(n.program);
    const Tensor x = n.input(3);
    const Tensor wanted = plain_run(n.program, {x})[0];
    const Tensor alone = session.run({x})[0];
    CAPTURE(n.name);
    CHECK(difference(alone, wanted) < (n.name == "integers" ? 0.02 : 1e-4));
    for (const int team : {2, 4, 1, 3}) {  // of one session, whose plans saw other teams before
      CAPTURE(team);
      set_threads(team);
      CHECK(difference(session.run({x})[0], alone) < 1e-5);
      for (const int64_t k : {0, 2})
        CHECK(difference(session.run({sample(x, k)})[0], sample(alone, k)) < 1e-5);
    }
  }
  set_threads(before);
}

}  // namespace hub
