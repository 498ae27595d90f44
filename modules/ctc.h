// Connectionist temporal classification: from a probability a class a step to text.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hub {

struct CtcText {
  std::string text;
  double score = 0;  ///< mean probability of the steps that gave a character; 0 when none did
};

/// The characters of a recogniser: class 0 is the blank, then the lines of a keys file, then the
/// space.
class CtcCharacters {
 public:
  /// Throws Code::refused naming `name` on anything but UTF-8 lines, none empty.
  CtcCharacters(std::string_view keys, const std::string& name);
  size_t classes() const { return characters_.size(); }
  /// Greedy: the best class of each step; repeats are one, blanks are none. `probabilities` is
  /// [steps, classes()].
  CtcText decode(std::span<const float> probabilities) const;

 private:
  std::vector<std::string> characters_;
};

}  // namespace hub
