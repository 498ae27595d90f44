// One pooling window after the other, with the elements that each covers.
#pragma once

#include <algorithm>

#include "runtime/ops/window.h"

namespace hub {

/// The elements of one dimension that a window covers: first + i * step for i in [0, count), and
/// how many it would cover with the declared pads.
struct PoolRun {
  int64_t first = 0, step = 1, count = 0, with_pads = 0;
};

inline std::vector<std::vector<PoolRun>> pool_runs(const Window& w, std::span<const int64_t> in) {
  std::vector<std::vector<PoolRun>> runs(w.rank());
  for (size_t d = 0; d < w.rank(); ++d) {
    for (int64_t o = 0; o < w.out[d]; ++o) {
      PoolRun r;
      if (w.uneven) {
        r.first = o * in[d] / w.out[d];
        r.count = r.with_pads = ((o + 1) * in[d] + w.out[d] - 1) / w.out[d] - r.first;
      } else {
        const int64_t start = o * w.strides[d] - w.pad_begin[d];
        const int64_t step = r.step = w.dilations[d];
        auto until = [&](int64_t end) {  // kernel positions before `end`
          return start >= end ? 0 : std::min(w.kernel[d], (end - 1 - start) / step + 1);
        };
        const int64_t skipped = until(0);
        r.first = start + skipped * step;
        r.count = until(in[d]) - skipped;
        r.with_pads = until(in[d] + w.pad_end[d]);
      }
      runs[d].push_back(r);
    }
  }
  return runs;
}

/// One window after the other: visit(output index, covered offsets, count with pads).
template <class Visit>
void each_window(const Window& w, std::span<const int64_t> in, Visit visit) {
  const auto runs = pool_runs(w, in);
  const size_t n = w.rank();
  std::vector<int64_t> at(n), covered, next;
  int64_t outputs = 1;
  for (int64_t o : w.out) outputs *= o;
  for (int64_t index = 0; index < outputs; ++index) {
    covered.assign(1, 0);
    int64_t with_pads = 1;
    for (size_t d = 0; d < n; ++d) {
      const PoolRun& r = runs[d][static_cast<size_t>(at[d])];
      with_pads *= r.with_pads;
      next.clear();
      for (int64_t base : covered) {
        for (int64_t i = 0; i < r.count; ++i) next.push_back(base * in[d] + r.first + i * r.step);
      }
      covered.swap(next);
    }
    visit(index, covered, with_pads);
    for (size_t d = n; d-- > 0;) {
      if (++at[d] < w.out[d]) break;
      at[d] = 0;
    }
  }
}

}  // namespace hub
