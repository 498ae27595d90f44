// From writing to sounds: the words of a text and how each is said. preprocess: language and what
// its pronouncer reads (pronouncer.h).
#include <nlohmann/json.hpp>

#include "hub/fields.h"
#include "modules/pronouncer.h"

namespace hub {
namespace {

class GraphemeToPhoneme final : public Task {
 public:
  explicit GraphemeToPhoneme(Module& module) {
    const std::string id = module.manifest().id();
    Fields pre(module.manifest().preprocess, id + ": preprocess");
    const bool english = pre.choice("language", {"english", "chinese"}) == "english";
    pronouncer_ = english ? english_pronouncer(module, pre) : chinese_pronouncer(module, pre);
    pre.done();
    Fields(module.manifest().postprocess, id + ": postprocess").done();
  }

  InputKind input() const override { return InputKind::text; }
  size_t batch() const override { return 64; }

  std::vector<json> predict(std::span<const Sample> samples, const RunOptions&) override {
    std::vector<std::string> texts;
    for (const Sample& sample : samples) texts.push_back(sample.text);
    std::vector<json> results;
    for (const std::vector<Said>& said : pronouncer_->say(texts)) {
      json words = json::array();
      for (const Said& one : said) {
        json word = {{"text", one.text}, {"phonemes", one.phonemes}};
        if (!one.other.empty()) {
          word["other"] = one.other;
          word["other_if"] = one.other_if;
        }
        words.push_back(std::move(word));
      }
      results.push_back({{"words", std::move(words)}});
    }
    return results;
  }

 private:
  std::unique_ptr<Pronouncer> pronouncer_;
};

}  // namespace

std::unique_ptr<Task> make_grapheme_to_phoneme(Module& module) {
  return std::make_unique<GraphemeToPhoneme>(module);
}

}  // namespace hub
