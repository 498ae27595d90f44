// Random search, and which search is called what.
#include "finetune/random.h"

#include <cmath>

#include "base/error.h"
#include "base/text.h"
#include "finetune/search/search.h"

namespace hub {
namespace {

class Uniform final : public Search {
 public:
  Uniform(size_t dimensions, uint64_t seed) : dimensions_(dimensions), random_(seed, 0x5eU) {}
  Point ask() override {
    Point p(dimensions_);
    for (double& v : p) v = random_.real();
    return p;
  }
  void tell(double) override {}

 private:
  size_t dimensions_;
  Random random_;
};

}  // namespace

double reflected(double x) {
  x = std::fabs(std::fmod(x, 2.0));
  return x > 1 ? 2 - x : x;
}

std::unique_ptr<Search> random_search(size_t dimensions, uint64_t seed) {
  return std::make_unique<Uniform>(dimensions, seed);
}

std::string search_method(const std::string& name) {
  const std::string lower = lower_ascii(name);
  if (lower == "hazero") return "cma-es";
  if (lower == "pshe2") return "population";
  if (lower == "random" || lower == "cma-es" || lower == "population") return lower;
  fail(Code::usage, "search method '", printable(name), "'; wanted ",
       one_of({"random", "cma-es", "population"}), " (HAZero and PSHE2 are the last two)");
}

std::unique_ptr<Search> make_search(const std::string& method, size_t dimensions, uint64_t seed) {
  const std::string name = search_method(method);
  if (name == "cma-es") return cma_es(dimensions, seed);
  if (name == "population") return population_search(dimensions, seed);
  return random_search(dimensions, seed);
}

}  // namespace hub
