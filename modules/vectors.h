// Embeddings as vectors: unit length, and how alike two of them are.
#pragma once

#include <span>
#include <vector>

namespace hub {

/// Divides by the Euclidean length; zeros stay zeros.
void to_unit_length(std::span<float> vector);
/// From -1 to 1; 0 where one of them is zero. Both of one size.
double cosine(std::span<const float> a, std::span<const float> b);

}  // namespace hub
