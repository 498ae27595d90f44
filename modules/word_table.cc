#include "modules/word_table.h"

#include <algorithm>
#include <bit>
#include <functional>

#include "base/error.h"

namespace hub {

WordTable::WordTable(MappedFile file, char terminator)
    : file_(std::move(file)), terminator_(terminator) {
  constexpr size_t limit = (size_t{1} << offset_bits) - 1;
  if (text().size() >= limit) {
    fail(Code::refused, "a word list of ", text().size(), " bytes; the most is ", limit);
  }
  const auto lines = static_cast<size_t>(std::count(text().begin(), text().end(), '\n')) + 1;
  slots_.assign(std::bit_ceil(lines * 4 / 3 + 1), free);
}

bool WordTable::holds(Slot slot, std::string_view word) const {
  const size_t offset = slot & ((Slot{1} << offset_bits) - 1), end = offset + word.size();
  if (text().substr(offset, word.size()) != word) return false;
  return end == text().size() || text()[end] == terminator_ || text()[end] == '\n' ||
         text()[end] == '\r';
}

size_t WordTable::slot_of(std::string_view word, uint64_t hash) const {
  const size_t mask = slots_.size() - 1;
  for (size_t i = hash & mask;; i = (i + 1) & mask) {
    const Slot slot = slots_[i];
    if (slot == free || (slot >> tag_shift == hash >> tag_shift && holds(slot, word))) return i;
  }
}

void WordTable::add(std::string_view word, int32_t number) {
  const uint64_t hash = std::hash<std::string_view>{}(word);
  const auto offset = static_cast<Slot>(word.data() - text().data());
  slots_[slot_of(word, hash)] =
      (hash >> tag_shift << tag_shift) | (static_cast<Slot>(number) << offset_bits) | offset;
}

std::optional<int32_t> WordTable::find(std::string_view word) const {
  const Slot slot = slots_[slot_of(word, std::hash<std::string_view>{}(word))];
  if (slot == free) return std::nullopt;
  return static_cast<int32_t>(slot >> offset_bits & ((Slot{1} << number_bits) - 1));
}

}  // namespace hub
