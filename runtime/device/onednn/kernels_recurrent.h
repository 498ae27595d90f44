// What a time step of a recurrent layer does beside its products, for one sequence. Rows hold the
// gates one behind the other, n numbers each.
#pragma once

#include <cstdint>

namespace hub::onednn {

/// x[i] += y[i]
void add_row(float* x, const float* y, int64_t n);
/// x[i] = sigmoid(x[i] + fed[i])
void sigmoid_gate(float* x, const float* fed, int64_t n);
/// y[i] = a[i] * b[i]
void product_row(const float* a, const float* b, float* y, int64_t n);
/// h = (1 - z) * tanh(x + fed) + z * h. With `swapped`, z and 1 - z change places.
void gru_state(const float* x, const float* fed, const float* z, bool swapped, float* h, int64_t n);
/// x and fed hold what is added up to the gates i, o, f and the candidate c:
/// cell = sigmoid(f) * cell + sigmoid(i) * tanh(c), h = sigmoid(o) * tanh(cell).
void lstm_state(const float* x, const float* fed, float* cell, float* h, int64_t n);

}  // namespace hub::onednn
