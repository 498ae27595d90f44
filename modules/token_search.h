// Beam search for the likeliest row of tokens, as CTranslate2 does it; one beam is greedy search.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace hub {

struct SearchLimits {
  size_t beams = 1;    ///< at least 1
  size_t longest = 1;  ///< tokens, at least 1
  int64_t end = 0;     ///< the token that ends a row and is no part of it
};

/// How a row of tokens goes on: which row of the step before it continues, and by which token.
struct Branch {
  size_t parent = 0;
  int64_t token = 0;
};

struct TokenRow {
  std::vector<int64_t> tokens;
  double log_probability = 0;  ///< of all its tokens and the end
};

/// The logits of what follows each branch, one row of them after the other; written over.
using NextLogits = std::function<std::span<float>(std::span<const Branch>)>;
/// Makes the logits of tokens that may not follow those of a row minus infinity; some stay.
using TokenRule = std::function<void(std::span<const int64_t> tokens, std::span<float> logits)>;

/// `first`: the logits of the first token. From then on `next` gets as many branches as there are
/// beams. The best by log probability a token among the first rows that end, as many as beams.
/// Throws Code::numeric when logits are not numbers.
TokenRow search_tokens(std::span<float> first, const SearchLimits& limits, const NextLogits& next,
                       const TokenRule& rule);

}  // namespace hub
