// Where in one block of memory each value of a plan lies.
#pragma once

#include <cstddef>
#include <vector>

namespace hub {

/// A value that needs `bytes` from step `first` to step `last`, both included.
struct Box {
  int first = 0, last = 0;
  size_t bytes = 0;
  size_t offset = 0;  ///< the answer, a multiple of 64
};

struct ArenaSize {
  size_t arena = 0;  ///< bytes of the block
  size_t live = 0;   ///< the most that is alive at one step: no plan can be smaller
  size_t sum = 0;    ///< what it would take without sharing
};

/// Largest first, each at the lowest offset where it meets no box that lives at the same time.
ArenaSize place_boxes(std::vector<Box>& boxes);

}  // namespace hub
