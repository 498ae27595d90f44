// English texts cut into words and punctuation as the package g2p-en does it: numbers in words, no
// accents, lower case, NLTK's tokenizer for tweets on what is left.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hub {

/// Of letters a-z and the signs ' . , ? ! - only.
std::vector<std::string> english_words(std::string_view text);

}  // namespace hub
