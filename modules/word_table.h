// Words of a mapped file with a number each: built in milliseconds without a string a word.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/file.h"

namespace hub {

/// Every word lies in the file, which is kept alive, and is followed by `terminator`, a line's end
/// or the end of the file. A word added again gets the later number.
class WordTable {
 public:
  static constexpr int32_t most = (1 << 24) - 1;  ///< the largest number
  /// Has room for a word a line. Throws Code::refused when the file has more than 256 MiB.
  WordTable(MappedFile file, char terminator);
  /// 0 <= number <= most.
  void add(std::string_view word, int32_t number);
  std::optional<int32_t> find(std::string_view word) const;
  std::string_view text() const { return file_.text(); }

 private:
  /// From the top: 12 bits of the word's hash, 24 of its number, 28 of where it begins. All ones:
  /// free.
  using Slot = uint64_t;
  static constexpr Slot free = ~Slot{0};
  static constexpr int offset_bits = 28, number_bits = 24, tag_shift = offset_bits + number_bits;
  size_t slot_of(std::string_view word, uint64_t hash) const;
  bool holds(Slot slot, std::string_view word) const;

  MappedFile file_;
  char terminator_;
  std::vector<Slot> slots_;  ///< a power of two, at most three quarters of them used
};

}  // namespace hub
