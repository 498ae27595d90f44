// WordPiece as uncased BERT models use it: text in, token ids out, equal to the `tokenizers`
// package id for id.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "modules/word_table.h"

namespace hub {

struct Tokens {
  std::vector<int64_t> ids;  ///< [CLS] … [SEP]
  size_t dropped = 0;        ///< tokens cut off to keep the limit
};

class WordPiece {
 public:
  /// `vocabulary`: one token a line, its id the line number from 0; "##" in front continues a word.
  /// Throws Code::refused without [UNK], [CLS], [SEP] and [PAD].
  explicit WordPiece(const MappedFile& vocabulary, bool lowercase = true);

  /// At most `max_length` (2 or more) ids, the last always [SEP]. Text like "[SEP]" is plain text:
  /// no input can make a control token. `text` is UTF-8; an invalid byte reads as U+FFFD, which is
  /// dropped.
  Tokens encode(std::string_view text, size_t max_length) const;
  int64_t pad() const { return pad_; }
  int64_t unknown() const { return unknown_; }

 private:
  int64_t need(std::string_view token) const;
  void append_word(std::string_view word, std::vector<int64_t>& ids) const;

  WordTable table_;
  bool lowercase_;
  int64_t unknown_, begin_, end_, pad_;
};

}  // namespace hub
