#include "modules/phonemes.h"

#include <utf8proc.h>

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "modules/espeak.h"

namespace hub {
namespace {

constexpr size_t most_bytes = 100'000;

/// What eSpeak NG takes as the end of a clause, as the mark that stands for it; 0 for all else.
char mark_of(char32_t c) {
  switch (c) {
    case U'.':
    case U'\u3002': return '.';
    case U'?':
    case U'\uff1f': return '?';
    case U'!':
    case U'\uff01': return '!';
    case U',':
    case U'\u3001':
    case U'\uff0c': return ',';
    case U':':
    case U'\uff1a': return ':';
    case U';':
    case U'\uff1b':
    case U'\u2013':
    case U'\u2014':
    case U'\u2026':
    case U'\u00a1':
    case U'\u00bf': return ';';
    default: return 0;
  }
}

bool is_space(char32_t c) { return c == U' ' || (c >= U'\t' && c <= U'\r') || c == U'\u3000'; }

/// Clauses may end in front of these without a space.
bool closes(char32_t c) {
  constexpr std::u32string_view brackets = U"?()[]{}<>\"'`\u00ab\u00bb\u300a\u300b";
  return brackets.find(c) != std::u32string_view::npos || (c >= 0x2014 && c <= 0x201f);
}

/// Without control characters, some of which are commands to eSpeak NG, and with spaces at the end:
/// its reader looks some characters ahead and does not see where a text ends.
std::string prepared(std::string_view text) {
  if (text.size() > most_bytes) {
    fail(Code::refused, "a text of ", text.size(),
         " bytes is too long to be spoken at once; wanted ", most_bytes, " at the most, split it");
  }
  if (const size_t at = first_invalid_utf8(text); at != std::string_view::npos)
    fail(Code::refused, "the text is not valid UTF-8 at byte ", at);
  std::u32string clean = decode_utf8(text);
  for (char32_t& c : clean) {
    const bool line = c == U'\n' || c == U'\u2028' || c == U'\u2029';
    const bool control = c < 0x20 || (c >= 0x7f && c < 0xa0);
    const bool is_private = (c >= 0xe000 && c < 0xf900) || c >= 0xf0000;
    if (line || control || is_private) c = line ? U'\n' : U' ';
  }
  return encode_utf8(clean) + "    ";
}

/// Without what stands in parentheses, which says that words are another language's.
std::u32string decomposed(std::string_view phonemes) {
  std::u32string out;
  bool language = false;
  for (const char32_t c : decode_utf8(phonemes)) {
    if (language) {
      language = c != U')';
      continue;
    }
    language = c == U'(';
    if (language) continue;
    utf8proc_int32_t parts[8];
    int boundary = 0;
    const auto n = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(c), parts, 8,
                                           UTF8PROC_DECOMPOSE, &boundary);
    if (n < 1 || n > 8) {
      out += c;
    } else {
      out.append(parts, parts + n);
    }
  }
  return out;
}

}  // namespace

ClauseEnd clause_end(std::u32string_view read, bool more) {
  char32_t next = U' ';
  if (more && !read.empty()) {
    next = read.back();
    read.remove_suffix(1);
  }
  size_t end = read.size();
  int new_lines = 0;
  while (end > 0 && is_space(read[end - 1])) new_lines += read[--end] == U'\n' ? 1 : 0;
  ClauseEnd found{.mark = 0, .sentence = new_lines > 1};
  size_t first = end;
  while (first > 0 && mark_of(read[first - 1]) != 0) --first;
  if (first == end) return found;
  const bool wide = read[end - 1] >= 0xa0;
  if (end == read.size() && more && !wide && !closes(next)) return found;
  // Of several marks the first decides.
  const std::u32string_view marks = read.substr(first, end - first);
  if (marks.starts_with(U"...") || marks.starts_with(U'\u2026')) return found;
  found.mark = mark_of(marks.front());
  found.sentence |= found.mark == '.' || found.mark == '?' || found.mark == '!';
  return found;
}

std::vector<std::u32string> phonemes_of(std::string_view text, const std::string& voice) {
  const std::string ready = prepared(text);
  std::vector<std::u32string> sentences(1);
  size_t begin = 0;
  for (const SpokenClause& spoken : espeak_clauses(ready, voice)) {
    const std::u32string clause = decomposed(spoken.phonemes);
    const bool more = spoken.end < ready.size();
    const ClauseEnd stop =
        clause_end(decode_utf8(std::string_view(ready).substr(begin, spoken.end - begin)), more);
    begin = spoken.end;
    std::u32string& sentence = sentences.back();
    sentence += clause;
    if (!clause.empty()) {
      if (stop.mark != 0) sentence += static_cast<char32_t>(stop.mark);
      if (!stop.sentence && (stop.mark != 0 || more)) sentence += U' ';
    }
    if (stop.sentence) sentences.emplace_back();
  }
  std::erase_if(sentences, [](const std::u32string& s) { return s.empty(); });
  return sentences;
}

}  // namespace hub
