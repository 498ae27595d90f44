// Measured times, summed up.
#pragma once

#include <algorithm>
#include <chrono>
#include <vector>

namespace hub {

/// Milliseconds that f takes.
template <class F>
double ms_of(F&& f) {
  const auto start = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
      .count();
}

struct Times {
  double min = 0, median = 0, p90 = 0;

  Times() = default;
  explicit Times(std::vector<double> ms) {
    if (ms.empty()) return;
    std::sort(ms.begin(), ms.end());
    min = ms.front();
    median = ms[ms.size() / 2];
    p90 = ms[ms.size() * 9 / 10];
  }
};

}  // namespace hub
