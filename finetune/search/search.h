// Ways to look for the least value of a function over the unit cube, one point at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace hub {

using Point = std::vector<double>;

/// Deterministic: the same seed and the same answers give the same questions.
class Search {
 public:
  virtual ~Search() = default;
  virtual Point ask() = 0;
  /// The value at the point asked for last; infinite where there is none.
  virtual void tell(double value) = 0;
};

/// Uniform points.
std::unique_ptr<Search> random_search(size_t dimensions, uint64_t seed);
/// CMA-ES (Hansen 2016, "The CMA Evolution Strategy: A Tutorial"), from the middle with a step of
/// `sigma`; points beyond the cube are reflected at its faces.
std::unique_ptr<Search> cma_es(size_t dimensions, uint64_t seed, double sigma = 0.2);
/// A swarm of `population` points, each pulled towards the best point found so far with a momentum
/// of `alpha` and a pull of `epsilon`, and shaken by as much as the swarm is wide.
std::unique_ptr<Search> population_search(size_t dimensions, uint64_t seed, double alpha = 0.5,
                                          double epsilon = 0.2, size_t population = 5);

/// "random", "cma-es" or "population", or PaddleHub's names for the last two: HAZero, PSHE2.
std::string search_method(const std::string& name);
std::unique_ptr<Search> make_search(const std::string& method, size_t dimensions, uint64_t seed);

/// Back into [0, 1], as a mirror at both ends would.
double reflected(double x);

}  // namespace hub
