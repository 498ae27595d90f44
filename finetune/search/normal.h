// Normally distributed numbers from the random numbers of training.
#pragma once

#include <cmath>
#include <numbers>

#include "finetune/random.h"

namespace hub {

/// Box and Muller (1958).
inline double normal(Random& random) {
  const double r = std::sqrt(-2 * std::log(1 - random.real()));
  return r * std::cos(2 * std::numbers::pi * random.real());
}

}  // namespace hub
