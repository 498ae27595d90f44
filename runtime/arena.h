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
  int whole = -1;     ///< the box that it lies in, from byte `offset` on until it has its answer
};

/// A box that is copied into another and so may lie there, at a multiple of 64.
struct Inside {
  int part = 0, whole = 0;
  size_t offset = 0;
};

struct ArenaSize {
  size_t arena = 0;  ///< bytes of the block
  size_t live = 0;   ///< the most that is alive at one step: no plan can be smaller
  size_t sum = 0;    ///< what it would take without sharing
};

/// Lets those of one whole lie in it: as many as can without more being alive at one step than is
/// now at most. The whole lives as long as they do.
void nest_boxes(std::vector<Box>& boxes, std::vector<Inside> wishes);

/// Largest first, each at the lowest offset where it meets no box that lives at the same time.
ArenaSize place_boxes(std::vector<Box>& boxes);

}  // namespace hub
