// What the detection operators of Paddle share: corner boxes and how much they overlap.
#pragma once

#include <algorithm>
#include <numeric>
#include <vector>

namespace hub {

/// Area of [x0, y0, x1, y1]; `extra` is 1 where the last pixel counts too. 0 for a box that is
/// turned inside out.
inline float box_area(const float* b, float extra) {
  if (b[2] < b[0] || b[3] < b[1]) return 0;
  return (b[2] - b[0] + extra) * (b[3] - b[1] + extra);
}

/// Intersection over union.
inline float box_overlap(const float* a, const float* b, float extra) {
  if (b[0] > a[2] || b[2] < a[0] || b[1] > a[3] || b[3] < a[1]) return 0;
  const float width = std::min(a[2], b[2]) - std::max(a[0], b[0]) + extra;
  const float height = std::min(a[3], b[3]) - std::max(a[1], b[1]) + extra;
  const float both = width * height;
  return both / (box_area(a, extra) + box_area(b, extra) - both);
}

/// The indices of `scores` above `least`, the highest first, equal ones in their order; at most
/// `most` of them unless that is negative.
inline std::vector<int64_t> best_first(const float* scores, int64_t count, float least,
                                       int64_t most) {
  std::vector<int64_t> order;
  for (int64_t i = 0; i < count; ++i)
    if (scores[i] > least) order.push_back(i);
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return scores[a] > scores[b]; });
  if (most >= 0 && static_cast<int64_t>(order.size()) > most)
    order.resize(static_cast<size_t>(most));
  return order;
}

/// Those of `order` that overlap no earlier one that stays by more than `limit`, which `eta` below
/// 1 lowers after each while it is above a half.
inline std::vector<int64_t> suppress(const float* boxes, const std::vector<int64_t>& order,
                                     float limit, float eta, float extra) {
  std::vector<int64_t> kept;
  for (int64_t i : order) {
    const bool stays = std::all_of(kept.begin(), kept.end(), [&](int64_t k) {
      return box_overlap(boxes + i * 4, boxes + k * 4, extra) <= limit;
    });
    if (!stays) continue;
    kept.push_back(i);
    if (eta < 1 && limit > 0.5F) limit *= eta;
  }
  return kept;
}

}  // namespace hub
