// Searches on functions whose least value is known; what a sweep varies.
#include "finetune/search/search.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <limits>
#include <set>

#include "finetune/search/space.h"
#include "tests/error_of.h"

namespace hub {
namespace {

using Function = std::function<double(const Point&)>;

double sphere(const Point& p) {
  double sum = 0;
  for (size_t i = 0; i < p.size(); ++i)
    sum += std::pow(p[i] - 0.3 - 0.1 * static_cast<double>(i), 2);
  return sum;
}

/// Over [-2, 2] a dimension; least at 1, 1, 1.
double rosenbrock(const Point& p) {
  double sum = 0;
  for (size_t i = 0; i + 1 < p.size(); ++i) {
    const double x = 4 * p[i] - 2, y = 4 * p[i + 1] - 2;
    sum += 100 * std::pow(y - x * x, 2) + std::pow(1 - x, 2);
  }
  return sum;
}

/// Evaluations until a value of at most `wanted`, or -1 after `most`.
int needed(Search& search, const Function& f, double wanted, int most) {
  for (int k = 1; k <= most; ++k) {
    const Point p = search.ask();
    for (double v : p) REQUIRE((v >= 0 && v <= 1));
    const double value = f(p);
    if (value <= wanted) return k;
    search.tell(value);
  }
  return -1;
}

double least(Search& search, const Function& f, int evaluations) {
  double best = std::numeric_limits<double>::infinity();
  for (int k = 0; k < evaluations; ++k) {
    const double value = f(search.ask());
    search.tell(value);
    best = std::min(best, value);
  }
  return best;
}

}  // namespace

TEST_CASE("CMA-ES finds the least value") {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    INFO("seed " << seed);
    for (size_t n : {1, 2, 3, 8}) {
      INFO("sphere in " << n);
      const int evaluations =
          needed(*cma_es(n, seed), sphere, 1e-6, 150 * static_cast<int>(n) + 150);
      CHECK(evaluations > 0);
    }
    CHECK(needed(*cma_es(3, seed), rosenbrock, 1e-6, 3000) > 0);
    // At a corner of the cube, where points are reflected.
    const auto corner = [](const Point& p) { return p[0] + (1 - p[1]) + p[2] * p[2]; };
    CHECK(needed(*cma_es(3, seed), corner, 1e-3, 1500) > 0);
    // A part of the cube gives nothing.
    const auto holed = [](const Point& p) {
      return p[0] > 0.55 ? std::numeric_limits<double>::infinity() : sphere(p);
    };
    CHECK(needed(*cma_es(3, seed), holed, 1e-6, 1000) > 0);
  }
}

TEST_CASE("population search is ahead of random search") {
  int ahead = 0;
  double log_ratio = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const double swarm = least(*population_search(3, seed), sphere, 60);
    const double random = least(*random_search(3, seed), sphere, 60);
    ahead += swarm < random ? 1 : 0;
    log_ratio += std::log10(swarm / random) / 20;
  }
  INFO("a factor of 10^" << log_ratio);
  CHECK(ahead >= 16);
  CHECK(log_ratio < -0.5);
}

TEST_CASE("a search is the same for the same seed, and survives failures alone") {
  for (const char* name : {"random", "cma-es", "population", "HAZero", "PSHE2"}) {
    INFO(name);
    const auto a = make_search(name, 3, 5), b = make_search(name, 3, 5),
               c = make_search(name, 3, 6);
    bool differs = false;
    for (int k = 0; k < 40; ++k) {
      const Point p = a->ask();
      CHECK(p == b->ask());
      differs = differs || p != c->ask();
      const double value = k < 20 ? std::numeric_limits<double>::infinity() : sphere(p);
      a->tell(value);
      b->tell(value);
      c->tell(value);
    }
    CHECK(differs);
  }
  CHECK(search_method("HAZero") == "cma-es");
  CHECK(error_of(Code::usage, [] { search_method("grid"); }).find("'cma-es'") != std::string::npos);
}

TEST_CASE("what is varied, as text") {
  const Space space("lr=1e-5:1e-3:log,label-smoothing=0:0.2,batch=8|16|32,epochs=2:4");
  CHECK(space.names() == std::vector<std::string>{"lr", "label-smoothing", "batch", "epochs"});
  const auto at = [&](double a, double b, double c, double d) {
    std::string text;
    for (const auto& [name, value] : space.at(Point{a, b, c, d})) text += value + " ";
    return text;
  };
  CHECK(at(0, 0, 0, 0) == "1e-05 0 8 2 ");
  CHECK(at(0.5, 0.5, 0.5, 0.5) == "0.0001 0.1 16 3 ");
  CHECK(at(1, 1, 1, 1) == "0.001 0.2 32 4 ");
  CHECK(at(0, 0, 0.34, 0.3) == "1e-05 0 16 2 ");
  CHECK(at(0, 0, 0.66, 0.4) == "1e-05 0 16 3 ");
  for (const char* bad : {"", "lr", "lr=", "=1:2", "lr=1:", "lr=2:1", "lr=1:1", "lr=0:1:log",
                          "lr=1:2:lin", "lr=1:2:log:x", "lr=a:b", "batch=8||16",
                          "lr=0.1:0.2,lr=0.1:0.3", "lr=nan:1", "lr=0:inf", "a=1|2,"}) {
    INFO(bad);
    CHECK_FALSE(error_of(Code::usage, [&] { Space space(bad); }).empty());
  }
}

}  // namespace hub
