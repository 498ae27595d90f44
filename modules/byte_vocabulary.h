// Tokens of byte-level encodings (GPT-2's): a file of one token a line, in which each byte is a
// visible character, and back to text.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/file.h"

namespace hub {

class ByteVocabulary {
 public:
  /// The id of a token is the number of its line, from 0. Throws Code::refused when the file is not
  /// UTF-8.
  explicit ByteVocabulary(MappedFile file);

  int64_t size() const { return static_cast<int64_t>(tokens_.size()); }
  /// Throws Code::refused when there is no such token.
  int64_t id(std::string_view token) const;
  /// The text of tokens within [0, size); what is not UTF-8 together becomes U+FFFD.
  std::string text(std::span<const int64_t> ids) const;

 private:
  MappedFile file_;
  std::vector<std::string_view> tokens_;  ///< in the file
  std::unordered_map<char32_t, char> bytes_;
};

}  // namespace hub
