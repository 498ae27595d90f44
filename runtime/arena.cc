#include "runtime/arena.h"

#include <algorithm>
#include <numeric>

namespace hub {

ArenaSize place_boxes(std::vector<Box>& boxes) {
  ArenaSize size;
  for (Box& b : boxes) {
    b.bytes = (b.bytes + 63) / 64 * 64;
    size.sum += b.bytes;
  }
  std::vector<size_t> order(boxes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return boxes[a].bytes > boxes[b].bytes; });
  std::vector<size_t> placed;  // by offset
  for (size_t i : order) {
    Box& box = boxes[i];
    size_t at = 0;
    for (size_t k : placed) {
      const Box& other = boxes[k];
      if (other.last < box.first || box.last < other.first) continue;
      if (other.offset >= at + box.bytes) break;
      at = std::max(at, other.offset + other.bytes);
    }
    box.offset = at;
    size.arena = std::max(size.arena, at + box.bytes);
    placed.insert(
        std::upper_bound(placed.begin(), placed.end(), i,
                         [&](size_t a, size_t b) { return boxes[a].offset < boxes[b].offset; }),
        i);
  }
  std::vector<std::pair<int, std::ptrdiff_t>> events;
  for (const Box& b : boxes) {
    events.emplace_back(b.first, static_cast<std::ptrdiff_t>(b.bytes));
    events.emplace_back(b.last + 1, -static_cast<std::ptrdiff_t>(b.bytes));
  }
  std::sort(events.begin(), events.end());
  std::ptrdiff_t live = 0;
  for (size_t i = 0; i < events.size(); ++i) {
    live += events[i].second;
    const bool last_of_step = i + 1 == events.size() || events[i + 1].first != events[i].first;
    if (last_of_step)
      size.live = std::max(size.live, static_cast<size_t>(std::max<std::ptrdiff_t>(live, 0)));
  }
  return size;
}

}  // namespace hub
