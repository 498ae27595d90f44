#include "modules/lac_segment.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/error.h"
#include "base/text.h"

namespace hub {
namespace {

size_t count_code_points(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  }));
}

/// A whole number from 0 to `most`, or -1.
int64_t number(std::string_view text, int64_t most) {
  int64_t value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && value >= 0 && value <= most
             ? value
             : -1;
}

/// Calls f(left, right, line number) for the two parts of every line.
template <class F>
void for_pairs(std::string_view text, char separator, F&& f) {
  size_t line = 1, begin = 0, cut = 0, cuts = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && text[i] != '\n') {
      if (text[i] == separator) {
        cut = i;
        ++cuts;
      }
      continue;
    }
    std::string_view all = text.substr(begin, i - begin);
    if (i == text.size() && all.empty()) return;
    if (all.ends_with('\r')) all.remove_suffix(1);
    if (cuts != 1) {
      fail(Code::refused, "line ", line, " is not two words: '", printable(all.substr(0, 80)), "'");
    }
    f(all.substr(0, cut - begin), all.substr(cut - begin + 1), line++);
    begin = i + 1;
    cuts = 0;
  }
}

[[noreturn]] void bad_number(std::string_view found, size_t line) {
  fail(Code::refused, "line ", line, ": '", printable(found.substr(0, 80)),
       "' is not a whole number in range");
}

bool ascii_alphanumeric(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

}  // namespace

LacSegmenter::LacSegmenter(const MappedFile& dictionary) : table_(dictionary, ' ') {
  constexpr int64_t most = int64_t{1} << 40;
  constexpr size_t longest = 255;
  int64_t total = 0;
  size_t longest_found = 1;
  for_pairs(dictionary.text(), ' ',
            [&](std::string_view word, std::string_view count, size_t line) {
              const int64_t n = number(count, most);
              if (n < 0) bad_number(count, line);
              total += n;
              const size_t length = count_code_points(word);
              if (length > longest)
                fail(Code::refused, "line ", line, ": a word of ", length, " characters");
              if (length > 0) table_.add(word, static_cast<int32_t>(length));
              longest_found = std::max(longest_found, length);
            });
  if (total == 0) fail(Code::refused, "the counts of the dictionary sum to 0");
  for (size_t length = 0; length <= longest_found; ++length) {
    log_chance_.push_back(std::log(static_cast<double>(length)) -
                          std::log(static_cast<double>(total)));
  }
}

std::vector<TextSpan> LacSegmenter::cut(std::string_view text,
                                        const std::vector<size_t>& ends) const {
  struct Best {
    double score;
    size_t end;
  };
  const size_t n = ends.size();
  std::vector<Best> best(n + 1);
  best[n] = {0, n};
  for (size_t i = n; i-- > 0;) {  // from the right: the best way from code point i to the end
    best[i] = {log_chance_[1] + best[i + 1].score, i + 1};
    const size_t from = i == 0 ? 0 : ends[i - 1];
    for (size_t length = 2; length < log_chance_.size() && i + length <= n; ++length) {
      if (!table_.find(text.substr(from, ends[i + length - 1] - from))) continue;
      const double score = log_chance_[length] + best[i + length].score;
      if (score >= best[i].score) best[i] = {score, i + length};
    }
  }
  std::vector<TextSpan> pieces;
  bool growing = false;  // the last piece is a run of single ASCII letters and digits
  for (size_t i = 0; i < n; i = best[i].end) {
    const bool single = best[i].end == i + 1 && ascii_alphanumeric(text[ends[i] - 1]);
    if (single && growing) {
      pieces.back().end = i + 1;
    } else {
      pieces.push_back({i, best[i].end});
    }
    growing = single;
  }
  return pieces;
}

LacVocabulary::LacVocabulary(const MappedFile& words, const MappedFile& replacements)
    : words_(words, '\n'), replacements_(replacements, '\t') {
  for_pairs(words.text(), '\t', [&](std::string_view id, std::string_view word, size_t line) {
    const int64_t value = number(id, WordTable::most);
    if (value < 0) bad_number(id, line);
    words_.add(word, static_cast<int32_t>(value));
  });
  for_pairs(replacements.text(), '\t', [&](std::string_view from, std::string_view to, size_t) {
    const auto at = static_cast<int64_t>(to.data() - replacements.text().data());
    if (at > WordTable::most)
      fail(Code::refused, "the replacements have more than ", WordTable::most, " bytes");
    replacements_.add(from, static_cast<int32_t>(at));
  });
  const auto unknown = words_.find("OOV");
  if (!unknown) fail(Code::refused, "the word list has no OOV line");
  unknown_ = *unknown;
}

int64_t LacVocabulary::id(std::string_view word) const {
  if (const auto at = replacements_.find(word)) {
    word = replacements_.text().substr(static_cast<size_t>(*at));
    word = word.substr(0, word.find_first_of("\r\n"));
  }
  const auto found = words_.find(word);
  return found ? *found : unknown_;
}

LacUnits LacVocabulary::units(std::string_view text, const std::vector<size_t>& ends,
                              const std::vector<TextSpan>& pieces) const {
  LacUnits out;
  for (const TextSpan& piece : pieces) {
    const std::string_view word = part_of(text, ends, piece);
    if (words_.find(word)) {
      out.units.push_back(piece);
      out.ids.push_back(id(word));
      continue;
    }
    for (size_t i = piece.start; i < piece.end; ++i) {
      out.units.push_back({i, i + 1});
      out.ids.push_back(id(part_of(text, ends, {i, i + 1})));
    }
  }
  return out;
}

std::vector<std::string> read_lac_tags(std::string_view text) {
  std::vector<std::string> tags;
  for_pairs(text, '\t', [&](std::string_view id, std::string_view tag, size_t line) {
    const int64_t value = number(id, 1 << 16);
    if (value < 0) bad_number(id, line);
    if (tags.size() <= static_cast<size_t>(value)) tags.resize(static_cast<size_t>(value) + 1);
    tags[static_cast<size_t>(value)] = tag;
  });
  return tags;
}

}  // namespace hub
