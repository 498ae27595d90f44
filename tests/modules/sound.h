// What the tone files of tests/data/media were made from.
#pragma once

#include <cmath>
#include <numbers>
#include <vector>

namespace hub {

/// A tone that rises from 300 Hz.
inline std::vector<float> tone(int rate, size_t count, double volume = 0.5) {
  std::vector<float> samples;
  for (size_t i = 0; i < count; ++i) {
    const double t = static_cast<double>(i) / rate;
    samples.push_back(
        static_cast<float>(volume * std::sin(2 * std::numbers::pi * (300 + 2000 * t) * t)));
  }
  return samples;
}

}  // namespace hub
