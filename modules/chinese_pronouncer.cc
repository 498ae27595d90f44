#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "base/error.h"
#include "base/text.h"
#include "modules/pronouncer.h"

namespace hub {
namespace {

constexpr size_t longest_text = 4096;  // characters in one run of the network

/// The values of a pickled dictionary of the module, all of one kind.
template <class T>
std::vector<std::pair<std::string, T>> table(const Module& module, const RelPath& path) {
  return within(path.str(), [&] {
    std::vector<std::pair<std::string, T>> items;
    for (auto& [key, item] : read_pickled_table(module.files().open(path))) {
      const T* value = std::get_if<T>(&item);
      if (value == nullptr) fail(Code::refused, "'", key, "' stands for another kind of value");
      items.emplace_back(key, *value);
    }
    return items;
  });
}

class Chinese final : public Pronouncer {
 public:
  Chinese(Module& module, Fields& fields) : module_(module) {
    using Texts = std::vector<std::string>;
    for (auto& [character, pinyin] : table<Texts>(module, fields.path("dictionary"))) {
      if (pinyin.empty()) fields.refuse("dictionary", "has a character without pinyin");
      pinyin_.emplace(character, std::move(pinyin));
    }
    for (const auto& [character, id] : table<int64_t>(module, fields.path("characters")))
      ids_.emplace(character, id);
    for (const char* special : {unknown, begin, end})
      if (!ids_.contains(special)) fields.refuse("characters", concat("has no ", special));
    const auto classes = table<int64_t>(module, fields.path("classes"));
    classes_.resize(classes.size());
    for (const auto& [pinyin, number] : classes) {
      if (number < 0 || number >= static_cast<int64_t>(classes_.size()))
        fields.refuse("classes", concat("has a class ", number, " of ", classes_.size()));
      classes_[static_cast<size_t>(number)] = pinyin;
    }
  }

  std::vector<std::vector<Said>> say(const std::vector<std::string>& texts) override {
    std::vector<std::vector<Said>> out;
    for (const std::string& text : texts) out.push_back(joined(say(text)));
    return out;
  }

 private:
  static constexpr const char* unknown = "<UNK>";
  static constexpr const char* begin = "시";
  static constexpr const char* end = "끝";

  int64_t id(const std::string& character) const {
    const auto it = ids_.find(character);
    return it == ids_.end() ? ids_.at(unknown) : it->second;
  }

  /// One a character; those that are not Chinese have no pinyin.
  std::vector<Said> say(const std::string& text) {
    std::vector<Said> said;
    std::vector<int64_t> ids{ids_.at(begin)};
    std::vector<size_t> open;  // those of several pinyin
    for (const char32_t c : decode_utf8(text)) {
      Said& one = said.emplace_back();
      append_utf8(one.text, c);
      ids.push_back(id(one.text));
      const auto it = pinyin_.find(one.text);
      if (it == pinyin_.end()) continue;
      if (it->second.size() > 1) open.push_back(said.size() - 1);
      one.phonemes = {it->second[0]};
    }
    ids.push_back(ids_.at(end));
    if (open.empty()) return said;
    if (said.size() > longest_text)
      fail(Code::unsupported, "a text of ", said.size(), " characters; at most ", longest_text,
           " are read at once: cut it into lines");
    const auto length = static_cast<int64_t>(ids.size());
    Tensor input(DType::i64, {1, length});
    std::copy(ids.begin(), ids.end(), input.data<int64_t>());
    const Tensor logits = module_.network("main").run({input}).at(0);
    const auto width = static_cast<int64_t>(classes_.size());
    if (logits.dtype() != DType::f32 || logits.shape() != Shape{1, length, width})
      fail(Code::refused, module_.manifest().id(), ": the network gives ", logits.spec().str(),
           ", wanted a number for each of ", width, " pinyin");
    for (const size_t i : open) {
      const float* row = logits.data<float>() + (i + 1) * classes_.size();
      said[i].phonemes = {classes_[static_cast<size_t>(std::max_element(row, row + width) - row)]};
    }
    return said;
  }

  /// Characters without pinyin that follow each other are one part, which stands for itself.
  static std::vector<Said> joined(const std::vector<Said>& characters) {
    std::vector<Said> parts;
    bool open = false;
    for (const Said& one : characters) {
      const bool plain = one.phonemes.empty();
      if (plain && open) {
        parts.back().text += one.text;
        parts.back().phonemes[0] += one.text;
      } else {
        parts.push_back(one);
        if (plain) parts.back().phonemes = {one.text};
      }
      open = plain;
    }
    return parts;
  }

  Module& module_;
  std::unordered_map<std::string, std::vector<std::string>> pinyin_;
  std::unordered_map<std::string, int64_t> ids_;
  std::vector<std::string> classes_;
};

}  // namespace

std::unique_ptr<Pronouncer> chinese_pronouncer(Module& module, Fields& fields) {
  return std::make_unique<Chinese>(module, fields);
}

}  // namespace hub
