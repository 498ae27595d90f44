// The keys of a recogniser and greedy decoding.
#include "modules/ctc.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"

namespace hub {

CtcCharacters::CtcCharacters(std::string_view keys, const std::string& name) {
  if (!valid_utf8(keys))
    fail(Code::refused, name, ": not UTF-8 at byte ", first_invalid_utf8(keys),
         "; wanted one character a line");
  characters_.emplace_back();
  for (const std::string_view line : lines(keys)) {
    if (line.empty())
      fail(Code::refused, name, ": line ", characters_.size(),
           " is empty; wanted one character a line");
    characters_.emplace_back(line);
  }
  characters_.emplace_back(" ");
}

CtcText CtcCharacters::decode(std::span<const float> probabilities) const {
  CtcText out;
  size_t kept = 0, last = 0;
  for (size_t at = 0; at + classes() <= probabilities.size(); at += classes()) {
    const auto step = probabilities.subspan(at, classes());
    const size_t best =
        static_cast<size_t>(std::max_element(step.begin(), step.end()) - step.begin());
    if (best != 0 && best != last) {
      out.text += characters_[best];
      out.score += step[best];
      ++kept;
    }
    last = best;
  }
  if (kept > 0) out.score /= static_cast<double>(kept);
  return out;
}

}  // namespace hub
