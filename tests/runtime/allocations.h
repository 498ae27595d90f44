// Counts the memory that this program asks for.
#pragma once

#include <cstddef>

namespace hub {

/// While it lives, each operator new and aligned_alloc (tensors) that any thread of this program
/// calls is counted; what oneDNN's library calls of them, apart. Not seen are malloc and its
/// relatives, which oneDNN's products and OpenMP's teams call and hub does not.
class CountAllocations {
 public:
  CountAllocations();
  ~CountAllocations();
  CountAllocations(const CountAllocations&) = delete;
  CountAllocations& operator=(const CountAllocations&) = delete;
  static size_t ours();
  static size_t onednn();
};

}  // namespace hub
