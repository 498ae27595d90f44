// Softmax over rows, and over the scores of attention.
#pragma once

#include <cstdint>

#include "runtime/ops/attention.h"

namespace hub::onednn {

/// y = softmax(x) over rows of `width`; y may be x.
void softmax_rows(const float* x, float* y, int64_t rows, int64_t width);

/// Scores [batch, heads, rows, keys] in memory, and what belongs to them.
struct Scores {
  int64_t batch, heads, rows, keys;
  float scale;                    ///< >= 0
  const int64_t* keep = nullptr;  ///< [batch, keys]: where it is 0 the result is 0
  const float* bias = nullptr;
  BiasSteps steps;  ///< of the bias
};
/// In place: softmax(scale * x + bias) over the keys that are kept.
void attention_softmax(float* x, const Scores& about);

}  // namespace hub::onednn
