// The text rules in front of WordPiece: BERT's clean-up, accent stripping, lower case and cutting
// into words.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hub {

/// The words of a text, normalised. Lower case goes with stripping accents, as in the uncased
/// models.
std::vector<std::u32string> bert_words(std::u32string_view text, bool lowercase);

}  // namespace hub
