#include "modules/vectors.h"

#include <algorithm>
#include <cmath>

namespace hub {

void to_unit_length(std::span<float> vector) {
  double square = 0;
  for (const float x : vector) square += double{x} * x;
  const double length = std::max(std::sqrt(square), 1e-12);
  for (float& x : vector) x = static_cast<float>(x / length);
}

double cosine(std::span<const float> a, std::span<const float> b) {
  double ab = 0, aa = 0, bb = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    ab += double{a[i]} * b[i];
    aa += double{a[i]} * a[i];
    bb += double{b[i]} * b[i];
  }
  return ab / std::max(std::sqrt(aa * bb), 1e-12);
}

}  // namespace hub
