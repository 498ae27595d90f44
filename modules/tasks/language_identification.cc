// In what language a text is. preprocess: model (a classifier of fastText), max_characters (what
// comes later is not read), lower_shouting (texts in capitals are read in small letters).
#include <utf8proc.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "hub/fields.h"
#include "modules/fasttext.h"
#include "modules/module.h"

namespace hub {
namespace {

utf8proc_int32_t code(char32_t c) { return static_cast<utf8proc_int32_t>(c); }

/// Capitals and nothing small; or of the letters A to Z and a to z more than four in five are
/// capitals, in a text of more than five characters.
bool shouted(std::u32string_view text) {
  bool large = false, small = false;
  size_t capitals = 0, letters = 0;
  for (const char32_t c : text) {
    small =
        small || utf8proc_islower(code(c)) || utf8proc_category(code(c)) == UTF8PROC_CATEGORY_LT;
    large = large || utf8proc_isupper(code(c));
    const bool capital = c >= 'A' && c <= 'Z';
    capitals += capital;
    letters += capital || (c >= 'a' && c <= 'z');
  }
  return (large && !small) || (5 * capitals > 4 * letters && text.size() > 5);
}

class LanguageIdentification final : public Task {
 public:
  explicit LanguageIdentification(Module& module) {
    const std::string id = module.manifest().id();
    Fields pre(module.manifest().preprocess, id + ": preprocess");
    const RelPath model = pre.path("model");
    most_ = static_cast<size_t>(pre.integer("max_characters", 1, 1 << 20));
    lower_shouting_ = pre.boolean("lower_shouting");
    pre.done();
    Fields(module.manifest().postprocess, id + ": postprocess").done();
    model_ = within(concat(id, ": ", model.str()),
                    [&] { return std::make_unique<FastText>(module.files().open(model)); });
  }

  InputKind input() const override { return InputKind::text; }
  size_t batch() const override { return 64; }

  std::vector<json> predict(std::span<const Sample> samples, const RunOptions& options) override {
    std::vector<json> results;
    for (const Sample& sample : samples) {
      json list = json::array();
      for (const auto& [label, score] : model_->predict(read(sample.text))) {
        if (list.size() == static_cast<size_t>(options.top)) break;
        list.push_back({{"label", label}, {"score", std::min(score, 1.0F)}});
      }
      results.push_back(std::move(list));
    }
    return results;
  }

 private:
  std::string read(std::string_view text) const {
    std::u32string line = decode_utf8(text.substr(0, 4 * most_));
    if (line.size() > most_) line.resize(most_);
    if (lower_shouting_ && shouted(line)) {
      for (char32_t& c : line) c = static_cast<char32_t>(utf8proc_tolower(code(c)));
    }
    return encode_utf8(line);
  }

  std::unique_ptr<FastText> model_;
  size_t most_ = 0;
  bool lower_shouting_ = false;
};

}  // namespace

std::unique_ptr<Task> make_language_identification(Module& module) {
  return std::make_unique<LanguageIdentification>(module);
}

}  // namespace hub
