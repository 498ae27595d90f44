// Texts as an encoder network takes them: token ids with a mask, padded to the longest of the
// batch. preprocess: tokenizer "wordpiece" with vocab (a file of lines) and lowercase, or "bpe"
// with vocab (a tokenizer.json); max_length.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "modules/bpe.h"
#include "modules/module.h"
#include "modules/wordpiece.h"

namespace hub {

class TextEncoder {
 public:
  explicit TextEncoder(Module& module);

  /// Token ids of one sample: its text, or both texts of a pair, each closed by [SEP] if it is
  /// WordPiece; a BPE takes no pairs. Says through the module's progress how many tokens were
  /// dropped.
  std::vector<int64_t> ids(const Sample& sample) const;
  /// input_ids, attention_mask and token_type_ids (all 0) int64 [texts, longest] in the order of
  /// network "main"'s inputs, other inputs left empty; the length is rounded up to a multiple of
  /// `round`.
  std::vector<Tensor> batch(std::span<const std::vector<int64_t>* const> texts,
                            size_t round = 1) const;
  std::vector<Tensor> batch(const std::vector<std::vector<int64_t>>& texts, size_t round = 1) const;
  /// Throws Code::unsupported when it is a BPE.
  const WordPiece& tokenizer() const;
  size_t max_length() const { return max_length_; }

 private:
  Module& module_;
  Tokens tokens(const Sample& sample) const;

  std::unique_ptr<WordPiece> tokenizer_;  ///< one of the two
  std::unique_ptr<Bpe> bpe_;
  size_t max_length_ = 0;
};

}  // namespace hub
