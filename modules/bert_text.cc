// The package that models are trained with knows the categories of Unicode 8 and the lower case of
// Unicode 17; utf8proc knows Unicode 15 in both. The tables below hold what differs, found by
// comparing all code points.
#include "modules/bert_text.h"

#include <utf8proc.h>

#include <algorithm>
#include <iterator>

namespace hub {
namespace {

struct Range {
  char32_t from, to;
};

/// Marks, punctuation and format characters newer than Unicode 8 lie in these; nothing older of
/// those kinds does.
constexpr Range newer[] = {
    {0x61d, 0x61d},     {0x7fd, 0x7fd},     {0x890, 0x8e2},     {0x9fd, 0x9fe},
    {0xa76, 0xa76},     {0xafa, 0xaff},     {0xb55, 0xb55},     {0xc04, 0xc3c},
    {0xc77, 0xc77},     {0xc84, 0xc84},     {0xd00, 0xd00},     {0xd3b, 0xd3c},
    {0xd81, 0xd81},     {0xeba, 0xeba},     {0xece, 0xece},     {0x180f, 0x1886},
    {0x1abf, 0x1ace},   {0x1b7d, 0x1b7e},   {0x1df6, 0x1dfb},   {0x2e43, 0x2e5d},
    {0xa82c, 0xa82c},   {0xa8c5, 0xa8c5},   {0xa8ff, 0xa8ff},   {0xa9bd, 0xa9bd},
    {0x10d24, 0x10f89}, {0x11070, 0x11074}, {0x110c2, 0x110cd}, {0x111cf, 0x111cf},
    {0x1123e, 0x11241}, {0x1133b, 0x1133b}, {0x11438, 0x1145e}, {0x11660, 0x1166c},
    {0x116b9, 0x116b9}, {0x1182f, 0x11fff}, {0x12ff1, 0x13455}, {0x16e97, 0x16f4f},
    {0x16fe2, 0x16fe4}, {0x1cf00, 0x1cf46}, {0x1e000, 0x1e4ef}, {0x1e944, 0x1e95f},
};

/// "Chinese" is what BERT's authors listed, each a word of its own.
constexpr Range ideographs[] = {
    {0x3400, 0x4dbf},   {0x4e00, 0x9fff},   {0xf900, 0xfaff},   {0x20000, 0x2a6df},
    {0x2a700, 0x2b81f}, {0x2b920, 0x2ceaf}, {0x2f800, 0x2fa1f},
};

struct Lower {
  char32_t from, to, lower;  ///< `lower` is that of `from`; the others follow in step
};
constexpr Lower newer_lower[] = {
    {0x1c89, 0x1c89, 0x1c8a},    {0xa7cb, 0xa7cb, 0x264},  {0xa7cc, 0xa7cc, 0xa7cd},
    {0xa7ce, 0xa7ce, 0xa7cf},    {0xa7d2, 0xa7d2, 0xa7d3}, {0xa7d4, 0xa7d4, 0xa7d5},
    {0xa7da, 0xa7da, 0xa7db},    {0xa7dc, 0xa7dc, 0x19b},  {0x10d50, 0x10d65, 0x10d70},
    {0x16ea0, 0x16eb8, 0x16ebb},
};

template <size_t N>
bool within_any(const Range (&ranges)[N], char32_t c) {
  const auto it = std::upper_bound(std::begin(ranges), std::end(ranges), c,
                                   [](char32_t value, const Range& r) { return value < r.from; });
  return it != std::begin(ranges) && c <= std::prev(it)->to;
}

utf8proc_category_t category(char32_t c) {
  switch (c) {  // moved to another category since Unicode 8
    case 0x166d:
    case 0x111c9: return UTF8PROC_CATEGORY_PO;
    case 0x1734: return UTF8PROC_CATEGORY_MN;
    default: break;
  }
  return within_any(newer, c) ? UTF8PROC_CATEGORY_CN
                              : utf8proc_category(static_cast<utf8proc_int32_t>(c));
}

bool blank(char32_t c) {
  if (c < 0x80) return c == ' ' || (c >= 9 && c <= 13);
  const auto kind = utf8proc_category(static_cast<utf8proc_int32_t>(c));
  return c == 0x85 || kind == UTF8PROC_CATEGORY_ZS || kind == UTF8PROC_CATEGORY_ZL ||
         kind == UTF8PROC_CATEGORY_ZP;
}

bool dropped(char32_t c) {
  if (c == '\t' || c == '\n' || c == '\r') return false;
  if (c >= 0x20 && c < 0x7f) return false;
  if (c == 0xfffd) return true;
  const auto kind = category(c);
  return kind == UTF8PROC_CATEGORY_CC || kind == UTF8PROC_CATEGORY_CF ||
         kind == UTF8PROC_CATEGORY_CO;
}

bool punctuation(char32_t c) {
  if (c < 0x80) {
    return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') ||
           (c >= '{' && c <= '~');
  }
  const auto kind = category(c);
  return kind >= UTF8PROC_CATEGORY_PC && kind <= UTF8PROC_CATEGORY_PO;
}

char32_t lower(char32_t c) {
  for (const Lower& l : newer_lower) {
    if (c >= l.from && c <= l.to) return l.lower + (c - l.from);
  }
  return static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c)));
}

void append_decomposed(std::u32string& out, char32_t c) {
  utf8proc_int32_t parts[8];  // the longest canonical decomposition has 4
  int boundary = 0;
  const auto code = static_cast<utf8proc_int32_t>(c);
  const auto n = c < 0x80 || within_any(newer, c)
                     ? 0
                     : utf8proc_decompose_char(code, parts, 8, UTF8PROC_DECOMPOSE, &boundary);
  if (n <= 0 || n > 8) {
    out += c;
  } else {
    out.append(parts, parts + n);
  }
}

int combining(char32_t c) {
  return utf8proc_get_property(static_cast<utf8proc_int32_t>(c))->combining_class;
}

/// Canonical decomposition without nonspacing marks, lower case.
std::u32string bare(std::u32string_view text) {
  std::u32string parts;
  for (char32_t c : text) append_decomposed(parts, c);
  for (size_t i = 0; i < parts.size();) {  // marks in canonical order
    size_t end = i;
    while (end < parts.size() && combining(parts[end]) != 0) ++end;
    std::stable_sort(parts.begin() + static_cast<ptrdiff_t>(i),
                     parts.begin() + static_cast<ptrdiff_t>(end),
                     [](char32_t a, char32_t b) { return combining(a) < combining(b); });
    i = end + 1;
  }
  std::erase_if(parts, [](char32_t c) { return c >= 0x80 && category(c) == UTF8PROC_CATEGORY_MN; });
  for (char32_t& c : parts) c = lower(c);
  return parts;
}

}  // namespace

std::vector<std::u32string> bert_words(std::u32string_view text, bool lowercase) {
  std::u32string clean;
  for (char32_t c : text) {
    if (dropped(c)) continue;
    if (within_any(ideographs, c)) {
      clean += {U' ', c, U' '};
    } else {
      clean += blank(c) ? U' ' : c;
    }
  }
  if (lowercase) clean = bare(clean);

  std::vector<std::u32string> words;
  bool open = false;  // the last word can grow
  for (char32_t c : clean) {
    if (blank(c)) {
      open = false;
    } else if (punctuation(c)) {
      words.emplace_back(1, c);
      open = false;
    } else {
      if (!open) words.emplace_back();
      words.back() += c;
      open = true;
    }
  }
  return words;
}

std::vector<TextSpan> bert_word_spans(std::u32string_view text, bool joined) {
  const auto alone = [](char32_t c) { return within_any(ideographs, c) || punctuation(c); };
  const auto inner = [&](size_t i) {
    return i < text.size() && !blank(text[i]) && !alone(text[i]);
  };
  std::vector<TextSpan> spans;
  bool open = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool grows = inner(i) || (joined && open && punctuation(text[i]) && inner(i + 1));
    if (grows && open) {
      spans.back().end = i + 1;
    } else if (!blank(text[i])) {
      spans.push_back({i, i + 1});
    }
    open = grows;
  }
  return spans;
}

}  // namespace hub
