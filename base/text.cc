#include "base/text.h"

#include <algorithm>

namespace hub {
namespace {

/// Length of the valid sequence at `i` and its code point; 0 when it is invalid (overlong,
/// surrogate, > U+10FFFF).
size_t decode_at(std::string_view s, size_t i, char32_t& out) {
  auto byte = [&](size_t k) { return k < s.size() ? static_cast<unsigned char>(s[k]) : 0U; };
  const unsigned b0 = byte(i);
  if (b0 < 0x80) {
    out = b0;
    return 1;
  }
  const size_t n = b0 >= 0xf0 && b0 <= 0xf4  ? 4
                   : b0 >= 0xe0 && b0 < 0xf0 ? 3
                   : b0 >= 0xc2 && b0 < 0xe0 ? 2
                                             : 0;
  if (n == 0 || i + n > s.size()) return 0;
  char32_t c = b0 & (0xffU >> (n + 1));
  for (size_t k = 1; k < n; ++k) {
    const unsigned b = byte(i + k);
    if ((b & 0xc0) != 0x80) return 0;
    c = (c << 6) | (b & 0x3f);
  }
  if ((n == 3 && (c < 0x800 || (c >= 0xd800 && c < 0xe000))) ||
      (n == 4 && (c < 0x10000 || c > 0x10ffff)))
    return 0;
  out = c;
  return n;
}

}  // namespace

size_t first_invalid_utf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    char32_t c = 0;
    const size_t n = decode_at(text, i, c);
    if (n == 0) return i;
    i += n;
  }
  return std::string_view::npos;
}

bool valid_utf8(std::string_view text) {
  return first_invalid_utf8(text) == std::string_view::npos;
}

std::u32string decode_utf8(std::string_view text) {
  std::u32string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    char32_t c = 0xfffd;
    const size_t n = decode_at(text, i, c);
    out += n == 0 ? U'\xfffd' : c;
    i += n == 0 ? 1 : n;
  }
  return out;
}

void append_utf8(std::string& out, char32_t c) {
  if (c < 0x80) {
    out += static_cast<char>(c);
  } else if (c < 0x800) {
    out += static_cast<char>(0xc0 | (c >> 6));
    out += static_cast<char>(0x80 | (c & 0x3f));
  } else if (c < 0x10000) {
    out += static_cast<char>(0xe0 | (c >> 12));
    out += static_cast<char>(0x80 | ((c >> 6) & 0x3f));
    out += static_cast<char>(0x80 | (c & 0x3f));
  } else {
    out += static_cast<char>(0xf0 | (c >> 18));
    out += static_cast<char>(0x80 | ((c >> 12) & 0x3f));
    out += static_cast<char>(0x80 | ((c >> 6) & 0x3f));
    out += static_cast<char>(0x80 | (c & 0x3f));
  }
}

std::string encode_utf8(std::u32string_view text) {
  std::string out;
  out.reserve(text.size());
  for (char32_t c : text) append_utf8(out, c);
  return out;
}

std::string printable(std::string_view text) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string out;
  for (size_t i = 0; i < text.size();) {
    char32_t c = 0;
    const size_t n = decode_at(text, i, c);
    if (n == 0 || c < 0x20 || (c >= 0x7f && c < 0xa0)) {
      const auto b = static_cast<unsigned char>(text[i]);
      out += "\\x";
      out += digits[b >> 4];
      out += digits[b & 15];
      i += 1;
    } else {
      out += text.substr(i, n);
      i += n;
    }
  }
  return out;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

std::vector<std::string_view> lines(std::string_view text) {
  auto parts = split(text, '\n');
  if (parts.back().empty()) parts.pop_back();
  for (auto& p : parts) {
    if (p.ends_with('\r')) p.remove_suffix(1);
  }
  return parts;
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view blank = " \t\r\n\f\v";
  const size_t from = text.find_first_not_of(blank);
  if (from == std::string_view::npos) return {};
  return text.substr(from, text.find_last_not_of(blank) - from + 1);
}

std::string lower_ascii(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replace = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replace});
    }
  }
  return row[b.size()];
}

std::vector<std::string> nearest(std::string_view name, const std::vector<std::string>& names,
                                 size_t count) {
  const std::string wanted = lower_ascii(name);
  std::vector<std::pair<size_t, std::string>> scored;
  for (const auto& n : names) {
    size_t d = edit_distance(wanted, lower_ascii(n));
    const bool contains = wanted.size() >= 3 && lower_ascii(n).find(wanted) != std::string::npos;
    if (contains) d = 1;
    if (d <= std::max<size_t>(2, wanted.size() / 3)) scored.emplace_back(d, n);
  }
  std::sort(scored.begin(), scored.end());
  std::vector<std::string> out;
  for (size_t i = 0; i < scored.size() && i < count; ++i) out.push_back(scored[i].second);
  return out;
}

std::string one_of(const std::vector<std::string>& names) {
  std::string out;
  for (size_t i = 0; i < names.size(); ++i) {
    if (i > 0) out += i + 1 == names.size() ? " or " : ", ";
    out += "'" + names[i] + "'";
  }
  return out;
}

}  // namespace hub
