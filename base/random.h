// Random numbers that are the same on every machine: splitmix64 (Steele, Lea, Flood 2014). The
// standard library's distributions and shuffle are others in each implementation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace hub {

constexpr uint64_t splitmix64_step = 0x9e3779b97f4a7c15U;

/// The first number of the sequence that begins at `state`.
inline uint64_t splitmix64(uint64_t state) {
  uint64_t z = state + splitmix64_step;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31);
}

class SplitMix64 {
 public:
  explicit SplitMix64(uint64_t seed) : state_(seed) {}
  uint64_t next() {
    const uint64_t number = splitmix64(state_);
    state_ += splitmix64_step;
    return number;
  }
  /// The bias of the remainder is below size / 2^64.
  template <class T>
  void shuffle(std::vector<T>& items) {
    for (size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[next() % i]);
  }

 private:
  uint64_t state_;
};

}  // namespace hub
