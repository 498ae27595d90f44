#include "modules/english_words.h"

#include <utf8proc.h>

#include <algorithm>

#include "base/text.h"
#include "modules/number_words.h"

namespace hub {
namespace {

bool letter(char c) { return c >= 'a' && c <= 'z'; }

/// The letters and signs that are read, accents and all else gone.
std::string plain(std::string_view text) {
  std::string out;
  for (const char32_t c : decode_utf8(text)) {
    utf8proc_int32_t parts[8];  // the longest canonical decomposition has 4
    int boundary = 0;
    const auto count = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(c), parts, 8,
                                               UTF8PROC_DECOMPOSE, &boundary);
    for (utf8proc_ssize_t i = 0; i < std::min<utf8proc_ssize_t>(count, 8); ++i) {
      const utf8proc_int32_t low = utf8proc_tolower(parts[i]);
      if (low >= 0x80) continue;
      const char ascii = static_cast<char>(low);
      if (letter(ascii) || std::string_view(" '.,?!-").find(ascii) != std::string_view::npos)
        out += ascii;
    }
  }
  return out;
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
}

/// Of more than three equal signs in a row three stay.
std::string without_hanging(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (!letter(c) && out.size() >= 3 && out.ends_with(std::string(3, c))) continue;
    out += c;
  }
  return out;
}

size_t letters(std::string_view text) {
  return static_cast<size_t>(std::find_if_not(text.begin(), text.end(), letter) - text.begin());
}

/// "example.com": labels with points or dashes between them, after the last point 2 to 13 letters.
/// 0: none at the front.
size_t domain(std::string_view text) {
  size_t best = 0;
  for (size_t at = letters(text), dot; at > 0 && at < text.size(); at = dot) {
    if (text[at] != '.' && text[at] != '-') break;
    const size_t label = letters(text.substr(at + 1));
    if (label == 0) break;
    dot = at + 1 + label;
    if (text[at] == '.' && label >= 2 && label <= 13) best = dot;
  }
  return best;
}

/// Three or more letters, apostrophes and dashes, of which the first and the last are letters.
size_t joined_word(std::string_view text) {
  size_t end = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (letter(text[i])) end = i + 1;
    if (!letter(text[i]) && text[i] != '\'' && text[i] != '-') break;
  }
  return letter(text[0]) && end >= 3 ? end : 0;
}

/// Two or more points with or without blanks between them.
size_t ellipsis(std::string_view text) {
  size_t end = 0;
  for (size_t i = 0; i < text.size() && (text[i] == '.' || (text[i] == ' ' && end > 0)); ++i)
    if (text[i] == '.') end = i + 1;
  return end >= 2 ? end : 0;
}

}  // namespace

std::vector<std::string> english_words(std::string_view text) {
  std::string clean = plain(with_numbers_as_words(text));
  replace_all(clean, "i.e.", "that is");
  replace_all(clean, "e.g.", "for example");
  clean = without_hanging(clean);
  std::vector<std::string> words;
  for (std::string_view rest = clean; !rest.empty();) {
    size_t size = 1;
    if (rest[0] != ' ') {
      for (const auto rule : {domain, joined_word, letters, ellipsis}) {
        const size_t found = rule(rest);
        if (found == 0) continue;
        size = found;
        break;
      }
      words.emplace_back(rest.substr(0, size));
    }
    rest.remove_prefix(size);
  }
  return words;
}

}  // namespace hub
