// The CPU device against the reference kernels, on every row of the operator table.
#include <catch2/catch.hpp>

#include "base/error.h"
#include "runtime/runtime.h"
#include "tests/runtime/op_cases.h"
#include "tests/runtime/plain_run.h"

namespace hub {
namespace {

enum class Form {
  computed,  ///< every input is computed
  weights,   ///< the first input is computed, the others are constants
  image,  ///< as weights, the first input through a convolution that changes nothing: it arrives in
          ///< blocks
};

/// A program with the one call; nothing when the row has no such form.
std::optional<Program> program_of(const OpCase& c, Form form, std::vector<Tensor>& inputs) {
  if (form == Form::image) {
    const Spec s = c.in.empty() || !c.in[0] ? Spec{} : c.in[0].spec();
    if (s.dtype != DType::f32 || s.shape.rank() < 3 || s.shape.rank() > 5) return {};
    if (s.shape.numel() == 0 || s.shape[1] > 64) return {};
  }
  Program p;
  Vars in;
  for (size_t i = 0; i < c.in.size(); ++i) {
    if (!c.in[i]) {
      in.emplace_back();
    } else if (form != Form::computed && i > 0) {
      in.push_back(constant(p, c.in[i]));
    } else {
      in.push_back({&p, p.add_input("x" + std::to_string(i), {})});
      inputs.push_back(c.in[i]);
    }
  }
  if (in.empty() || !in[0]) return {};
  if (form == Form::image) {
    const Shape& x = c.in[0].shape();
    Shape w{x[1], x[1]};
    for (size_t d = 2; d < x.rank(); ++d) w.push_back(1);
    Tensor one(DType::f32, w);
    for (int64_t k = 0; k < x[1] * x[1]; ++k)
      one.data<float>()[k] = k % (x[1] + 1) == 0 ? 1.0F : 0.0F;
    in[0] = conv(in[0], constant(p, one), {}, {});
  }
  const size_t outputs = std::max<size_t>(c.out.size(), 1);
  for (const Var& v : apply(*find_op(c.op), in, c.attrs, outputs)) p.outputs.push_back(v.id);
  return p;
}

}  // namespace

TEST_CASE("the cpu device gives the numbers of the reference") {
  int compared = 0;
  std::vector<OpCase> cases = op_cases();
  for (OpCase& c : training_cases()) cases.push_back(std::move(c));
  for (const OpCase& c : cases) {
    for (const Form form : {Form::computed, Form::weights, Form::image}) {
      std::vector<Tensor> inputs;
      const auto program = program_of(c, form, inputs);
      if (!program) continue;
      INFO(c.op << " form " << static_cast<int>(form) << ", first input " << c.in[0].spec().str());
      const auto wanted = plain_run(*program, inputs);
      Session session(*program);
      // Twice: the second run finds the arena as the first one left it.
      for (int round = 0; round < 2; ++round) {
        const auto got = session.run(inputs);
        REQUIRE(got.size() == wanted.size());
        for (size_t k = 0; k < got.size(); ++k) {
          CAPTURE(k, got[k].spec().str(), wanted[k].spec().str());
          CHECK(difference(got[k], wanted[k]) < 2e-5);
        }
      }
      ++compared;
    }
  }
  CHECK(compared > 300);
}

TEST_CASE("threads do not change the numbers") {
  Program p;
  const Var x{&p, p.add_input("x", {DType::f32, {-1, 24, -1, -1}})};
  const Var y =
      conv(x, constant(p, noise({40, 24, 3, 3})), constant(p, noise({40})), {.pads = {1, 1, 1, 1}});
  p.outputs = {unary("hard_swish", y).id};
  const Tensor image = noise({2, 24, 31, 33}, 7);
  const int before = threads();
  set_threads(1);
  const auto one = Session(p).run({image});
  set_threads(2);
  const auto two = Session(p).run({image});
  set_threads(before);
  CHECK(difference(two[0], one[0]) < 1e-5);
}

}  // namespace hub
