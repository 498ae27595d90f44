// Random numbers that are the same on every machine and need no state to be saved: each is a
// function of the seed and of what it is for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace hub {

/// splitmix64 (Steele, Lea, Flood 2014), from any number of keys.
class Random {
 public:
  template <class... Keys>
  explicit Random(Keys... keys) {
    ((state_ = next() ^ static_cast<uint64_t>(keys)), ...);
  }
  uint64_t next() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15U;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
  }
  /// In [0, 1).
  double real() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  /// In [0, n); n > 0. The bias of the remainder is below n / 2^64.
  uint64_t below(uint64_t n) { return next() % n; }

 private:
  uint64_t state_ = 0;
};

/// 0 … n - 1 in an order of its own for each epoch.
inline std::vector<uint32_t> shuffled(size_t n, uint64_t seed, uint64_t epoch) {
  std::vector<uint32_t> order(n);
  std::iota(order.begin(), order.end(), 0U);
  Random random(seed, epoch, 0x0badU);
  for (size_t i = n; i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
  return order;
}

}  // namespace hub
