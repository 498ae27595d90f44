// Random numbers that are the same on every machine and need no state to be saved: each is a
// function of the seed and of what it is for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "base/random.h"

namespace hub {

/// splitmix64 from any number of keys.
class Random : public SplitMix64 {
 public:
  template <class... Keys>
  explicit Random(Keys... keys) : SplitMix64(0) {
    ((*static_cast<SplitMix64*>(this) = SplitMix64(next() ^ static_cast<uint64_t>(keys))), ...);
  }
  /// In [0, 1).
  double real() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  /// In [0, n); n > 0. The bias of the remainder is below n / 2^64.
  uint64_t below(uint64_t n) { return next() % n; }
};

/// 0 … n - 1 in an order of its own for each epoch.
inline std::vector<uint32_t> shuffled(size_t n, uint64_t seed, uint64_t epoch) {
  std::vector<uint32_t> order(n);
  std::iota(order.begin(), order.end(), 0U);
  Random random(seed, epoch, 0x0badU);
  random.shuffle(order);
  return order;
}

}  // namespace hub
