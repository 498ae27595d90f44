// fastText's classifiers of texts (.bin, .ftz): words, their pieces of some letters and runs of
// words as vectors, the mean of these, a tree or a softmax over the labels. Joulin et al. 2016,
// arXiv:1607.01759 and, for the quantised form, arXiv:1612.03651.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/file.h"

namespace hub {

class FastText {
 public:
  /// Versions 11 and 12. Throws Code::refused on what is malformed, in memory bounded by the file's
  /// size, and Code::unsupported for models that are not classifiers with a hierarchical or plain
  /// softmax.
  explicit FastText(const MappedFile& file);
  ~FastText();

  /// The labels of one line, without fastText's prefix, with their probabilities, best first, of
  /// equal ones the first; as fastText, none of less than 1e-5.
  std::vector<std::pair<std::string_view, float>> predict(std::string_view line) const;

 private:
  struct Model;
  std::unique_ptr<const Model> model_;
};

}  // namespace hub
