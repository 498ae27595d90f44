// Pieces of a text by the places of their code points.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace hub {

/// Code points [start, end).
struct TextSpan {
  size_t start, end;
};

/// For each code point of UTF-8 text the byte just after it.
std::vector<size_t> code_point_ends(std::string_view text);
/// The bytes of a span, given those ends.
std::string_view part_of(std::string_view text, const std::vector<size_t>& ends, TextSpan span);

}  // namespace hub
