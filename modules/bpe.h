// Byte-pair encoding as SentencePiece models have it in tokenizer.json (LLaMA's): the whole text is
// one word, blanks are U+2581, what has no piece of its own becomes its bytes. Equal to the
// `tokenizers` package id for id, control tokens left out.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace hub {

class Bpe {
 public:
  /// `file`: a tokenizer.json. Throws Code::refused when it is of another kind.
  explicit Bpe(std::string_view file);

  /// Text like "<s>" is plain text: no input can make a control token. `text` is UTF-8.
  std::vector<int64_t> encode(std::string_view text) const;

 private:
  struct Merge {
    int32_t rank, id;
  };
  static uint64_t pair(int32_t left, int32_t right) {
    return static_cast<uint64_t>(left) << 32 | static_cast<uint32_t>(right);
  }
  std::vector<int32_t> pieces(std::string_view text) const;

  std::unordered_map<std::string, int32_t> characters_;  ///< pieces of one code point
  std::unordered_map<uint64_t, Merge> merges_;           ///< of two neighbours
  int32_t bytes_[256];
};

}  // namespace hub
