// Text: UTF-8, splitting, nearest names. Unicode properties come from utf8proc where they are
// needed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hub {

bool valid_utf8(std::string_view text);
/// Byte offset of the first invalid sequence, or npos.
size_t first_invalid_utf8(std::string_view text);
/// Code points; an invalid byte becomes U+FFFD.
std::u32string decode_utf8(std::string_view text);
void append_utf8(std::string& out, char32_t c);
std::string encode_utf8(std::u32string_view text);

/// The text with control bytes and invalid UTF-8 shown as \xNN, safe to print on a terminal.
std::string printable(std::string_view text);

std::vector<std::string_view> split(std::string_view text, char separator);
/// Lines without their ending ("\n" or "\r\n"); no last empty line.
std::vector<std::string_view> lines(std::string_view text);
std::string_view trim(std::string_view text);
std::string lower_ascii(std::string_view text);

/// Levenshtein distance in bytes.
size_t edit_distance(std::string_view a, std::string_view b);
/// Up to `count` of `names` that look like `name`, nearest first.
std::vector<std::string> nearest(std::string_view name, const std::vector<std::string>& names,
                                 size_t count = 3);
/// "'a', 'b' or 'c'"
std::string one_of(const std::vector<std::string>& names);

}  // namespace hub
