// Sums over a dimension in the middle, added up in double a piece at a time.
#include "runtime/device/onednn/kernels.h"
#include "runtime/device/onednn/vector.h"

namespace hub::onednn {
namespace {

constexpr int64_t piece = 256;  ///< numbers that are summed as floats, or columns at a time

HUB_VECTOR double sum_row(const float* x, int64_t count) {
  double sum = 0;
  for (int64_t begin = 0; begin < count; begin += piece) {
    const int64_t end = std::min(begin + piece, count);
    float lanes[32] = {};
    int64_t i = begin;
    for (; i + 32 <= end; i += 32)
      for (int64_t l = 0; l < 32; ++l) lanes[l] += x[i + l];
    float part = 0;
    for (; i < end; ++i) part += x[i];
    for (float lane : lanes) sum += static_cast<double>(lane);
    sum += static_cast<double>(part);
  }
  return sum;
}

/// Columns [0, width) of `rows` rows that lie `stride` apart; width <= piece.
HUB_VECTOR void sum_columns(const float* x, int64_t rows, int64_t stride, int64_t width,
                            double scale, float* y) {
  double sum[piece] = {};
  for (int64_t begin = 0; begin < rows; begin += 16) {
    float part[piece] = {};
    const int64_t end = std::min(begin + 16, rows);
    for (int64_t r = begin; r < end; ++r)
      for (int64_t c = 0; c < width; ++c) part[c] += x[r * stride + c];
    for (int64_t c = 0; c < width; ++c) sum[c] += static_cast<double>(part[c]);
  }
  for (int64_t c = 0; c < width; ++c) y[c] = static_cast<float>(sum[c] * scale);
}

}  // namespace

void middle_sums(const float* x, float* y, int64_t outer, int64_t count, int64_t inner,
                 double scale) {
  const int64_t columns = (inner + piece - 1) / piece;
#pragma omp parallel for collapse(2) if (outer * count * inner >= worth_a_thread)
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t k = 0; k < columns; ++k) {
      const float* from = x + o * count * inner;
      if (inner == 1) {
        y[o] = static_cast<float>(sum_row(from, count) * scale);
      } else {
        const int64_t c = k * piece;
        sum_columns(from + c, count, inner, std::min(piece, inner - c), scale, y + o * inner + c);
      }
    }
  }
}

}  // namespace hub::onednn
