// The text rules in front of WordPiece: BERT's clean-up, accent stripping, lower case and cutting
// into words.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "modules/text_span.h"

namespace hub {

/// The words of a text, normalised. Lower case goes with stripping accents, as in the uncased
/// models.
std::vector<std::u32string> bert_words(std::u32string_view text, bool lowercase);
/// Where those words lie in the text. With `joined`, one punctuation mark between letters or digits
/// stays in its word ("10.1", "well-known").
std::vector<TextSpan> bert_word_spans(std::u32string_view text, bool joined);

}  // namespace hub
