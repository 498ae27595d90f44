// Texts as an encoder network takes them: WordPiece ids with a mask, padded to the longest of the
// batch. preprocess: tokenizer "wordpiece", vocab (a file), lowercase, max_length.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "modules/module.h"
#include "modules/wordpiece.h"

namespace hub {

class TextEncoder {
 public:
  explicit TextEncoder(Module& module);

  /// Token ids of one sample: its text, or both texts of a pair, each closed by [SEP]. Says through
  /// the module's progress how many tokens were dropped.
  std::vector<int64_t> ids(const Sample& sample) const;
  /// input_ids and attention_mask int64 [texts, longest] in the order of network "main"'s inputs,
  /// other inputs left empty; the length is rounded up to a multiple of `round`.
  std::vector<Tensor> batch(std::span<const std::vector<int64_t>* const> texts,
                            size_t round = 1) const;
  std::vector<Tensor> batch(const std::vector<std::vector<int64_t>>& texts, size_t round = 1) const;
  const WordPiece& tokenizer() const { return *tokenizer_; }
  size_t max_length() const { return max_length_; }

 private:
  Module& module_;
  std::unique_ptr<WordPiece> tokenizer_;
  size_t max_length_ = 0;
};

}  // namespace hub
