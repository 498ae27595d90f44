// eSpeak NG, the library that says how a text is spoken; loaded when it is needed.
#pragma once

#include <string>
#include <vector>

namespace hub {

/// A stretch of text that is spoken in one breath.
struct SpokenClause {
  size_t end = 0;        ///< bytes of the text that were read when it was known to be over
  std::string phonemes;  ///< in the International Phonetic Alphabet
};

/// The clauses of a text. The library has one state, which words of other languages change, and
/// some texts make it crash (it frees the rules of a language in the middle of a word): each text
/// is read by a child process, which begins where all others began. Throws Code::refused on a text
/// that kills the child or keeps it for a minute, Code::unsupported where eSpeak NG or the voice is
/// not installed.
std::vector<SpokenClause> espeak_clauses(const std::string& text, const std::string& voice);

}  // namespace hub
