// Operators that draw: the same numbers for the same seed, others in each run without one, and
// distributed as they should be.
#include <catch2/catch.hpp>
#include <cmath>

#include "runtime/runtime.h"
#include "tests/runtime/op_cases.h"

namespace hub {
namespace {

constexpr int64_t many = 20000;

struct Moments {
  double mean = 0, deviation = 0, least = INFINITY, most = -INFINITY;
};

Moments moments(const std::vector<float>& x) {
  Moments m;
  for (float v : x) {
    m.mean += v;
    m.deviation += double{v} * v;
    m.least = std::min(m.least, double{v});
    m.most = std::max(m.most, double{v});
  }
  m.mean /= static_cast<double>(x.size());
  m.deviation = std::sqrt(m.deviation / static_cast<double>(x.size()) - m.mean * m.mean);
  return m;
}

Tensor drawn(std::string_view op, const Attrs& attrs, const Tensor& x) {
  const Tensor* in[] = {&x};
  return run_reference(*find_op(op), attrs, in)[0];
}

}  // namespace

TEST_CASE("random numbers have the distribution that they should have") {
  const Moments u =
      moments(drawn("random_uniform", {{"low", 2.0}, {"high", 5.0}}, i({many})).to_floats());
  CHECK(u.mean == Approx(3.5).margin(0.05));
  CHECK(u.deviation == Approx(3 / std::sqrt(12)).margin(0.05));
  CHECK(u.least >= 2);
  CHECK(u.most <= 5);
  const Moments n =
      moments(drawn("random_normal", {{"mean", -1.0}, {"scale", 2.0}}, i({many})).to_floats());
  CHECK(n.mean == Approx(-1).margin(0.1));
  CHECK(n.deviation == Approx(2).margin(0.1));
  const Tensor p = f({many}, std::vector<float>(many, 0.3F));
  CHECK(moments(drawn("bernoulli", {}, p).to_floats()).mean == Approx(0.3).margin(0.02));
  const Tensor weights = f({1, 3}, {std::log(1.0F), std::log(2.0F), std::log(5.0F)});
  const auto places = drawn("multinomial", {{"samples", many}}, weights).to_ints();
  for (int64_t k : {0, 1, 2}) {
    const auto share = static_cast<double>(std::count(places.begin(), places.end(), k)) / many;
    CHECK(share == Approx(k == 0 ? 0.125 : k == 1 ? 0.25 : 0.625).margin(0.02));
  }
}

TEST_CASE("a seed repeats the numbers, each run without one draws anew") {
  for (const bool seeded : {true, false}) {
    Program program;
    Attrs attrs;
    if (seeded) attrs.set("seed", int64_t{5});
    const Var y = apply("random_uniform", {constant(program, i({64}))}, attrs);
    program.outputs.push_back(y.id);
    Session session(program);
    const auto first = session.run({})[0].clone().to_floats();
    CHECK((session.run({})[0].to_floats() == first) == seeded);
  }
}

}  // namespace hub
