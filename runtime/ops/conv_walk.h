// The three products of a convolution and its transpose: both are one relation between a small
// picture (conv's output, the transpose's input) and a large one, with weights [small channels,
// large channels / group, kernel…].
#pragma once

#include <vector>

#include "runtime/ops/kernel.h"
#include "runtime/ops/taps.h"

namespace hub {

struct ConvWalk {
  Taps taps;
  int64_t batch, small_channels, large_channels;
  int64_t per_group;  ///< large channels of one group
  ConvWalk(const Window& w, const Shape& small, const Shape& large, const Shape& weights)
      : taps(w, {small.begin() + 2, small.end()}, {large.begin() + 2, large.end()}),
        batch(small[0]),
        small_channels(small[1]),
        large_channels(large[1]),
        per_group(weights[1]) {}
  int64_t groups() const { return large_channels / per_group; }
  int64_t small_per_group() const { return small_channels / groups(); }
  /// The large channel that is the l-th of those that small channel s sees.
  int64_t large_channel(int64_t s, int64_t l) const {
    return s / small_per_group() * per_group + l;
  }
};

/// small += sum over large channels and taps of weight * large.
template <class T>
void add_to_small(const ConvWalk& c, const T* large, const T* weights, T* small) {
  const Taps& taps = c.taps;
  parallel(c.batch * c.small_channels, 1, [&](int64_t begin, int64_t end) {
    for (int64_t plane = begin; plane < end; ++plane) {
      const int64_t n = plane / c.small_channels, s = plane % c.small_channels;
      T* to = small + plane * taps.small_size();
      for (int64_t l = 0; l < c.per_group; ++l) {
        const T* from = large + (n * c.large_channels + c.large_channel(s, l)) * taps.large_size();
        const T* weight = weights + (s * c.per_group + l) * taps.taps();
        taps.walk([&](int64_t tap, int64_t at, int64_t far, int64_t count, int64_t stride) {
          for (int64_t j = 0; j < count; ++j) to[at + j] += weight[tap] * from[far + j * stride];
        });
      }
    }
  });
}

/// large += sum over small channels and taps of weight * small.
template <class T>
void add_to_large(const ConvWalk& c, const T* small, const T* weights, T* large) {
  const Taps& taps = c.taps;
  parallel(c.batch * c.large_channels, 1, [&](int64_t begin, int64_t end) {
    for (int64_t plane = begin; plane < end; ++plane) {
      const int64_t n = plane / c.large_channels, at_large = plane % c.large_channels;
      const int64_t first = at_large / c.per_group * c.small_per_group();
      T* to = large + plane * taps.large_size();
      for (int64_t s = first; s < first + c.small_per_group(); ++s) {
        const T* from = small + (n * c.small_channels + s) * taps.small_size();
        const T* weight = weights + (s * c.per_group + at_large % c.per_group) * taps.taps();
        taps.walk([&](int64_t tap, int64_t at, int64_t far, int64_t count, int64_t stride) {
          for (int64_t j = 0; j < count; ++j) to[far + j * stride] += weight[tap] * from[at + j];
        });
      }
    }
  });
}

/// weights = sum over the batch and positions of small * large.
template <class T>
void weights_of(const ConvWalk& c, const T* small, const T* large, T* weights) {
  const Taps& taps = c.taps;
  parallel(c.small_channels * c.per_group, 1, [&](int64_t begin, int64_t end) {
    std::vector<double> sums(static_cast<size_t>(taps.taps()));
    for (int64_t pair = begin; pair < end; ++pair) {
      const int64_t s = pair / c.per_group, l = pair % c.per_group;
      std::fill(sums.begin(), sums.end(), 0);
      for (int64_t n = 0; n < c.batch; ++n) {
        const T* a = small + (n * c.small_channels + s) * taps.small_size();
        const T* b = large + (n * c.large_channels + c.large_channel(s, l)) * taps.large_size();
        taps.walk([&](int64_t tap, int64_t at, int64_t far, int64_t count, int64_t stride) {
          T sum = 0;
          for (int64_t j = 0; j < count; ++j) sum += a[at + j] * b[far + j * stride];
          sums[static_cast<size_t>(tap)] += sum;
        });
      }
      for (size_t k = 0; k < sums.size(); ++k)
        weights[pair * taps.taps() + static_cast<int64_t>(k)] = static_cast<T>(sums[k]);
    }
  });
}

}  // namespace hub
