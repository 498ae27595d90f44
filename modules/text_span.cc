#include "modules/text_span.h"

namespace hub {

std::vector<size_t> code_point_ends(std::string_view text) {
  std::vector<size_t> ends;
  for (size_t i = 1; i <= text.size(); ++i) {
    if (i == text.size() || (static_cast<unsigned char>(text[i]) & 0xc0) != 0x80) ends.push_back(i);
  }
  return ends;
}

std::string_view part_of(std::string_view text, const std::vector<size_t>& ends, TextSpan span) {
  if (span.end <= span.start) return {};
  const size_t from = span.start == 0 ? 0 : ends[span.start - 1];
  return text.substr(from, ends[span.end - 1] - from);
}

}  // namespace hub
