// Population search with momentum.
#include <algorithm>
#include <cmath>
#include <limits>

#include "finetune/search/normal.h"
#include "finetune/search/search.h"

namespace hub {
namespace {

class Population final : public Search {
 public:
  Population(size_t dimensions, uint64_t seed, double alpha, double epsilon, size_t count)
      : alpha_(alpha), epsilon_(epsilon), random_(seed, 0x909U) {
    members_.assign(count, {Point(dimensions, 0.5), Point(dimensions, 0.0)});
    for (size_t i = 1; i < count; ++i)
      for (double& v : members_[i].at) v = random_.real();
  }

  Point ask() override { return members_[next_].at; }

  void tell(double value) override {
    if (value < least_) {
      least_ = value;
      best_ = members_[next_].at;
    }
    if (++next_ < members_.size()) return;
    next_ = 0;
    if (!best_.empty()) move();
  }

 private:
  struct Member {
    Point at, speed;
  };

  void move() {
    for (size_t d = 0; d < best_.size(); ++d) {
      double width = 0;
      for (const Member& m : members_) width += std::fabs(m.at[d] - best_[d]);
      width /= static_cast<double>(members_.size());
      for (Member& m : members_) {
        m.speed[d] = alpha_ * m.speed[d] + epsilon_ * (best_[d] - m.at[d]);
        m.at[d] = reflected(m.at[d] + m.speed[d] + width * normal(random_) / 2);
      }
    }
  }

  double alpha_, epsilon_;
  Random random_;
  std::vector<Member> members_;
  size_t next_ = 0;
  Point best_;
  double least_ = std::numeric_limits<double>::infinity();
};

}  // namespace

std::unique_ptr<Search> population_search(size_t dimensions, uint64_t seed, double alpha,
                                          double epsilon, size_t population) {
  return std::make_unique<Population>(dimensions, seed, alpha, epsilon, population);
}

}  // namespace hub
