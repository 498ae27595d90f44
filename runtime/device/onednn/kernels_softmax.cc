#include "runtime/device/onednn/kernels_softmax.h"

#include <cmath>
#include <cstring>

#include "runtime/device/onednn/vector.h"

namespace hub::onednn {
namespace {

constexpr int64_t lanes = 16;
typedef float Floats __attribute__((vector_size(lanes * 4), aligned(4), may_alias));
typedef int32_t Ints __attribute__((vector_size(lanes * 4)));

/// fast_exp (vector.h) in lanes.
HUB_INLINE Floats exp_lanes(Floats x) {
  x = x < -87.0F ? Floats{} - 87.0F : x;
  x = x > 88.0F ? Floats{} + 88.0F : x;
  constexpr float whole = 0x1.8p23F;  // adding it leaves no bits for a fraction
  const Floats n = (x * 1.44269504F + whole) - whole;
  return exp_rest(x, n) * (Floats)((__builtin_convertvector(n, Ints) + 127) << 23);
}

/// The last numbers of a row, filled up with -inf, whose share is nothing.
HUB_INLINE Floats tail(const float* x, int64_t count, float fill) {
  Floats v = Floats{} + fill;
  std::memcpy(&v, x, static_cast<size_t>(count) * sizeof(float));
  return v;
}

/// One row waits for each of its sums: several at a time do not.
struct Line {
  const float* x;
  float* y;
  const float* bias;
};
template <int rows>
HUB_INLINE void lines(const Line* line, int64_t width, float scale) {
  const int64_t full = width / lanes * lanes, rest = width - full;
  // A place of a row: in memory, or filled up at its end.
  const auto load = [&](const float* x, int64_t i, float fill) HUB_INLINED {
    return i < full ? *reinterpret_cast<const Floats*>(x + i) : tail(x + i, rest, fill);
  };
  const auto store = [&](float* y, int64_t i, Floats v) HUB_INLINED {
    if (i < full)
      *reinterpret_cast<Floats*>(y + i) = v;
    else
      std::memcpy(y + i, &v, static_cast<size_t>(rest) * sizeof(float));
  };
  Floats top[rows], sum[rows];
  for (int r = 0; r < rows; ++r) top[r] = Floats{} - INFINITY, sum[r] = Floats{};
  for (int64_t i = 0; i < width; i += lanes) {
    for (int r = 0; r < rows; ++r) {
      Floats v = load(line[r].x, i, -INFINITY) * scale;
      if (line[r].bias != nullptr) v += load(line[r].bias, i, 0);
      store(line[r].y, i, v);
      top[r] = v > top[r] ? v : top[r];
    }
  }
  float most[rows];
  for (int r = 0; r < rows; ++r) {
    most[r] = -INFINITY;
    for (int64_t l = 0; l < lanes; ++l) most[r] = top[r][l] > most[r] ? top[r][l] : most[r];
  }
  for (int64_t i = 0; i < width; i += lanes) {
    for (int r = 0; r < rows; ++r) {
      const Floats v = exp_lanes(load(line[r].y, i, -INFINITY) - most[r]);
      store(line[r].y, i, v);
      sum[r] += i < full ? v : tail(line[r].y + i, rest, 0);
    }
  }
  for (int r = 0; r < rows; ++r) {
    float all = 0;
    for (int64_t l = 0; l < lanes; ++l) all += sum[r][l];
    const float inverse = 1.0F / all;
    for (int64_t i = 0; i < width; i += lanes) store(line[r].y, i, load(line[r].y, i, 0) * inverse);
  }
}

constexpr int64_t together = 4;

HUB_VECTOR void some_lines(const Line* line, int64_t count, int64_t width, float scale) {
  if (count == together) return lines<together>(line, width, scale);
  for (int64_t i = 0; i < count; ++i) lines<1>(line + i, width, scale);
}

}  // namespace

void softmax_rows(const float* x, float* y, int64_t rows, int64_t width) {
#pragma omp parallel for if (rows * width >= worth_a_thread)
  for (int64_t first = 0; first < rows; first += together) {
    const int64_t count = std::min(together, rows - first);
    Line line[together];
    for (int64_t i = 0; i < count; ++i)
      line[i] = {x + (first + i) * width, y + (first + i) * width, nullptr};
    some_lines(line, count, width, 1.0F);
  }
}

void attention_softmax(float* x, const Scores& a) {
  const int64_t rows = a.heads * a.rows;
  for (int64_t n = 0; n < a.batch; ++n) {
    // Padding stands at the end: what is kept is a row of its own, the rest gets exact zeros.
    const int64_t* mask = a.keep == nullptr ? nullptr : a.keep + n * a.keys;
    int64_t kept = a.keys;
    bool scattered = false;
    if (mask != nullptr) {
      kept = std::find(mask, mask + a.keys, 0) - mask;
      scattered = std::any_of(mask + kept, mask + a.keys, [](int64_t m) { return m != 0; });
    }
    const int64_t width = scattered ? a.keys : kept;
    float* const part = x + n * rows * a.keys;
#pragma omp parallel for if (rows * a.keys >= worth_a_thread)
    for (int64_t first = 0; first < rows; first += together) {
      const int64_t count = std::min(together, rows - first);
      Line line[together];
      for (int64_t i = 0; i < count; ++i) {
        const int64_t r = first + i;
        float* row = part + r * a.keys;
        const int64_t at =
            n * a.steps.sample + r / a.rows * a.steps.head + r % a.rows * a.steps.row;
        line[i] = {row, row, a.bias == nullptr ? nullptr : a.bias + at};
        for (int64_t k = 0; scattered && k < a.keys; ++k)
          row[k] = mask[k] != 0 ? row[k] : -INFINITY;
      }
      if (width > 0) some_lines(line, count, width, a.scale);
      for (int64_t i = 0; i < count; ++i) {
        float* row = line[i].y;
        std::fill(row + width, row + a.keys, 0.0F);
        for (int64_t k = 0; scattered && k < a.keys; ++k) row[k] = mask[k] != 0 ? row[k] : 0.0F;
      }
    }
  }
}

}  // namespace hub::onednn
