// The walk that a convolution and its transpose share: for every position of the kernel, the runs
// along the last dimension in which "large = small * stride + kernel position * dilation - pad"
// stays inside both pictures.
#pragma once

#include <algorithm>
#include <array>

#include "runtime/ops/window.h"

namespace hub {

/// A window over exactly three spatial dimensions; missing ones in front are 1.
struct Taps {
  std::array<int64_t, 3> small{1, 1, 1}, large{1, 1, 1}, kernel{1, 1, 1}, stride{1, 1, 1},
      dilation{1, 1, 1}, pad{};

  Taps(const Window& w, std::span<const int64_t> small_dims, std::span<const int64_t> large_dims) {
    const size_t first = 3 - w.rank();
    for (size_t d = 0; d < w.rank(); ++d) {
      small[first + d] = small_dims[d];
      large[first + d] = large_dims[d];
      kernel[first + d] = w.kernel[d];
      stride[first + d] = w.strides[d];
      dilation[first + d] = w.dilations[d];
      pad[first + d] = w.pad_begin[d];
    }
  }

  int64_t taps() const { return kernel[0] * kernel[1] * kernel[2]; }
  int64_t small_size() const { return small[0] * small[1] * small[2]; }
  int64_t large_size() const { return large[0] * large[1] * large[2]; }

  /// run(tap, small offset, large offset, count, stride of large).
  template <class Run>
  void walk(Run run) const {
    int64_t tap = 0;
    for (int64_t a = 0; a < kernel[0]; ++a) {
      const auto [a0, a1] = range(0, a);
      for (int64_t b = 0; b < kernel[1]; ++b) {
        const auto [b0, b1] = range(1, b);
        for (int64_t c = 0; c < kernel[2]; ++c, ++tap) {
          const auto [c0, c1] = range(2, c);
          if (c0 >= c1) continue;
          for (int64_t i = a0; i < a1; ++i) {
            for (int64_t j = b0; j < b1; ++j) {
              run(tap, (i * small[1] + j) * small[2] + c0,
                  (at(0, a, i) * large[1] + at(1, b, j)) * large[2] + at(2, c, c0), c1 - c0,
                  stride[2]);
            }
          }
        }
      }
    }
  }

 private:
  int64_t at(size_t d, int64_t k, int64_t i) const {
    return i * stride[d] + k * dilation[d] - pad[d];
  }
  /// Positions of `small` for which kernel position k falls inside `large`.
  std::array<int64_t, 2> range(size_t d, int64_t k) const {
    const int64_t shift = k * dilation[d] - pad[d];
    const int64_t from = shift < 0 ? (-shift + stride[d] - 1) / stride[d] : 0;
    const int64_t to = shift >= large[d] ? 0 : (large[d] - 1 - shift) / stride[d] + 1;
    return {from, std::min(to, small[d])};
  }
};

}  // namespace hub
