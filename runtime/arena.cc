#include "runtime/arena.h"

#include <algorithm>
#include <numeric>

namespace hub {
namespace {

size_t rounded(size_t bytes) { return (bytes + 63) / 64 * 64; }

/// Bytes alive at each step, from step -1 on.
std::vector<size_t> alive(const std::vector<Box>& boxes) {
  int last = 0;
  for (const Box& b : boxes) last = std::max(last, b.last);
  std::vector<size_t> bytes(static_cast<size_t>(last) + 3);
  for (const Box& b : boxes) {
    if (b.whole >= 0) continue;
    bytes[static_cast<size_t>(b.first + 1)] += rounded(b.bytes);
    bytes[static_cast<size_t>(b.last + 2)] -= rounded(b.bytes);
  }
  std::partial_sum(bytes.begin(), bytes.end(), bytes.begin());
  return bytes;
}

size_t most(const std::vector<size_t>& bytes) {
  return *std::max_element(bytes.begin(), bytes.end());
}

}  // namespace

void nest_boxes(std::vector<Box>& boxes, std::vector<Inside> wishes) {
  const auto box = [&](int i) -> Box& { return boxes[static_cast<size_t>(i)]; };
  std::erase_if(wishes, [&](const Inside& w) { return box(w.part).whole >= 0; });
  if (wishes.empty()) return;
  // What was written first keeps the whole alive longest.
  std::stable_sort(wishes.begin(), wishes.end(), [&](const Inside& a, const Inside& b) {
    return box(a.part).first > box(b.part).first;
  });
  const size_t limit = most(alive(boxes));
  const Box before = box(wishes[0].whole);
  for (; !wishes.empty(); wishes.pop_back()) {
    Box& whole = box(wishes[0].whole);
    for (const Inside& w : wishes) {
      Box& part = box(w.part);
      if (part.whole >= 0) continue;  // twice in the same whole
      part.whole = w.whole;
      part.offset = w.offset;
      whole.first = std::min(whole.first, part.first);
      whole.last = std::max(whole.last, part.last);
    }
    if (most(alive(boxes)) <= limit) return;
    for (const Inside& w : wishes) box(w.part).whole = -1;
    whole = before;
  }
}

ArenaSize place_boxes(std::vector<Box>& boxes) {
  ArenaSize size;
  std::vector<size_t> order;
  for (size_t i = 0; i < boxes.size(); ++i) {
    Box& b = boxes[i];
    b.bytes = rounded(b.bytes);
    if (b.whole >= 0) continue;
    size.sum += b.bytes;
    order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return boxes[a].bytes > boxes[b].bytes; });
  if (!boxes.empty()) size.live = most(alive(boxes));
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
  for (Box& b : boxes) {
    for (; b.whole >= 0; b.whole = boxes[static_cast<size_t>(b.whole)].whole)
      b.offset += boxes[static_cast<size_t>(b.whole)].offset;
  }
  return size;
}

}  // namespace hub
