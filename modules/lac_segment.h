// What LAC does to a text before its network: a dictionary cuts it, the pieces get numbers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "modules/text_span.h"
#include "modules/word_table.h"

namespace hub {

/// The cut with the greatest product of word probabilities, where LAC's probability of a dictionary
/// word is its length in code points over the sum of the dictionary's counts, and of any other code
/// point 1 over that sum. Of equal cuts the one with the longest first word. Single ASCII letters
/// and digits that follow each other are joined.
class LacSegmenter {
 public:
  /// `dictionary`: "word count" a line. Throws Code::refused naming a line that is not.
  explicit LacSegmenter(const MappedFile& dictionary);
  /// `ends[i]` is the byte just after code point i of `text`.
  std::vector<TextSpan> cut(std::string_view text, const std::vector<size_t>& ends) const;

 private:
  WordTable table_;                 ///< word -> its length in code points
  std::vector<double> log_chance_;  ///< of a word of so many code points; [0] is not used
};

/// The units of a text that the network sees: whole dictionary words or single code points, with
/// their ids.
struct LacUnits {
  std::vector<TextSpan> units;
  std::vector<int64_t> ids;
};

class LacVocabulary {
 public:
  /// `words`: "id TAB word" a line, one of them "OOV"; `replacements`: "from TAB to" a line (full
  /// width to half width, traditional to simplified), applied before a word is looked up.
  LacVocabulary(const MappedFile& words, const MappedFile& replacements);
  LacUnits units(std::string_view text, const std::vector<size_t>& ends,
                 const std::vector<TextSpan>& pieces) const;
  int64_t id(std::string_view word) const;

 private:
  WordTable words_;
  WordTable replacements_;  ///< from -> where `to` begins in the file
  int64_t unknown_ = 0;
};

/// "id TAB tag" a line; a later line for an id wins. Throws Code::refused on ids above 2^16.
std::vector<std::string> read_lac_tags(std::string_view text);

}  // namespace hub
