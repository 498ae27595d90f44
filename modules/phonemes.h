// From text to phonemes, as the voices of Piper were trained.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hub {

/// How eSpeak NG's clause stops: '.', '?', '!', ',', ':', ';' or 0 for nothing that is said.
struct ClauseEnd {
  char mark = 0;
  bool sentence = false;  ///< a sentence ends as well
};

/// The end of a clause from the text that was read for it, which does not say how it stopped. What
/// follows is there with its first character when there is `more`.
ClauseEnd clause_end(std::u32string_view read, bool more);

/// The sentences of a text in the International Phonetic Alphabet, spoken by eSpeak NG's `voice`
/// ("en-us"): a code point a phoneme, decomposed (NFD), with the marks at which the text stops, as
/// piper-phonemize 1.1 gives them but for a space behind an ellipsis. Sentences without a word are
/// left out. Throws Code::refused on invalid UTF-8 and beyond 100,000 bytes, and as espeak.h.
std::vector<std::u32string> phonemes_of(std::string_view text, const std::string& voice);

}  // namespace hub
