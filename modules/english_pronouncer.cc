#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text.h"
#include "modules/english_words.h"
#include "modules/pronouncer.h"
#include "modules/word_table.h"

namespace hub {
namespace {

constexpr size_t longest_word = 256, most_words = 64;  // letters; in one run of the network
constexpr int most_phonemes = 20;                      // what g2p-en stops at

std::vector<std::string> symbols(std::string_view text) {
  std::vector<std::string> out;
  for (const std::string_view part : split(text, ' '))
    if (!part.empty()) out.emplace_back(part);
  return out;
}

struct Homograph {
  std::vector<std::string> usual, other;
  std::string other_if;
};

std::map<std::string, Homograph> read_homographs(const MappedFile& file) {
  std::map<std::string, Homograph> words;
  for (const std::string_view line : lines(file.text())) {
    if (line.starts_with('#')) continue;
    const auto parts = split(trim(line), '|');
    if (parts.size() != 4)
      fail(Code::refused, "homographs: '", printable(line.substr(0, 80)),
           "' is not word|sounds|sounds|part of speech");
    words[lower_ascii(parts[0])] = {symbols(parts[2]), symbols(parts[1]), std::string(parts[3])};
  }
  return words;
}

class English final : public Pronouncer {
 public:
  English(Module& module, Fields& fields)
      : module_(module),
        dictionary_(module.files().open(fields.path("dictionary")), ' '),
        homographs_(read_homographs(module.files().open(fields.path("homographs")))),
        graphemes_(fields.strings("graphemes")),
        phonemes_(fields.strings("phonemes")) {
    const std::string_view text = dictionary_.text();
    for (const std::string_view line : lines(text)) {
      const auto at = static_cast<size_t>(line.data() - text.data());
      if (at > WordTable::most) fail(Code::refused, "the dictionary has more than 16 MiB");
      const std::string_view word = line.substr(0, line.find(' '));
      if (word.size() < line.size()) dictionary_.add(word, static_cast<int32_t>(at));
    }
    unknown_ = number(fields, "graphemes", graphemes_, "<unk>");
    word_end_ = number(fields, "graphemes", graphemes_, "</s>");
    begin_ = number(fields, "phonemes", phonemes_, "<s>");
    end_ = number(fields, "phonemes", phonemes_, "</s>");
  }

  std::vector<std::vector<Said>> say(const std::vector<std::string>& texts) override {
    std::vector<std::vector<Said>> out;
    std::map<std::string, std::vector<std::string>> guessed;
    for (const std::string& text : texts) {
      auto& said = out.emplace_back();
      for (std::string& word : english_words(text)) {
        Said one = known(word);
        if (one.phonemes.empty()) guessed.try_emplace(word);
        one.text = std::move(word);
        said.push_back(std::move(one));
      }
    }
    guess(guessed);
    for (auto& said : out) {
      for (Said& one : said)
        if (one.phonemes.empty()) one.phonemes = guessed.at(one.text);
    }
    return out;
  }

 private:
  static int64_t number(const Fields& fields, const char* key,
                        const std::vector<std::string>& symbols, std::string_view symbol) {
    const auto it = std::find(symbols.begin(), symbols.end(), symbol);
    if (it == symbols.end()) fields.refuse(key, concat("has no ", symbol));
    return it - symbols.begin();
  }

  /// Without phonemes: a word for the network.
  Said known(const std::string& word) const {
    if (std::none_of(word.begin(), word.end(), [](char c) { return c >= 'a' && c <= 'z'; }))
      return {{}, {word}, {}, {}};
    if (const auto it = homographs_.find(word); it != homographs_.end())
      return {{}, it->second.usual, it->second.other, it->second.other_if};
    const auto at = dictionary_.find(word);
    if (!at) return {};
    std::string_view line = dictionary_.text().substr(static_cast<size_t>(*at));
    line = line.substr(0, line.find('\n'));
    line = line.substr(0, line.find('#'));
    return {{}, symbols(trim(line.substr(word.size()))), {}, {}};
  }

  void guess(std::map<std::string, std::vector<std::string>>& words) {
    for (auto it = words.begin(); it != words.end();) {
      std::vector<std::pair<const std::string, std::vector<std::string>>*> some;
      for (; it != words.end() && some.size() < most_words; ++it) some.push_back(&*it);
      guess_some(some);
    }
  }

  using Entry = std::pair<const std::string, std::vector<std::string>>;
  void guess_some(const std::vector<Entry*>& words) {
    const auto count = static_cast<int64_t>(words.size());
    Tensor state = encoded(words);
    Tensor ids(DType::i64, {count});
    std::fill_n(ids.data<int64_t>(), count, begin_);
    std::vector<bool> ended(words.size());
    const auto width = static_cast<int64_t>(phonemes_.size());
    for (int step = 0; step < most_phonemes; ++step) {
      const std::vector<Tensor> out = module_.network("decoder").run({ids, state});
      const Tensor& logits = out.at(0);
      if (logits.dtype() != DType::f32 || logits.shape() != Shape{count, width})
        fail(Code::refused, module_.manifest().id(), ": the decoder gives ", logits.spec().str(),
             ", wanted a number for each of ", width, " phonemes");
      state = out.at(1);
      for (size_t i = 0; i < words.size(); ++i) {
        const float* row = logits.data<float>() + i * phonemes_.size();
        const int64_t best = std::max_element(row, row + width) - row;
        ids.data<int64_t>()[i] = best;
        ended[i] = ended[i] || best == end_;
        if (!ended[i]) words[i]->second.push_back(phonemes_[static_cast<size_t>(best)]);
      }
      if (std::all_of(ended.begin(), ended.end(), [](bool e) { return e; })) return;
    }
  }

  Tensor encoded(const std::vector<Entry*>& words) {
    size_t longest = 0;
    for (const Entry* word : words) longest = std::max(longest, word->first.size() + 1);
    if (longest > longest_word + 1)
      fail(Code::unsupported, "a word of ", longest - 1, " letters; at most ", longest_word,
           " are read");
    longest = (longest + 7) / 8 * 8;  // few shapes, few plans
    const auto count = static_cast<int64_t>(words.size());
    Tensor ids(DType::i64, {count, static_cast<int64_t>(longest)}), lengths(DType::i32, {count});
    std::fill_n(ids.data<int64_t>(), ids.numel(), word_end_);
    for (size_t i = 0; i < words.size(); ++i) {
      const std::string& word = words[i]->first;
      int64_t* to = ids.data<int64_t>() + i * longest;
      for (const char c : word) {
        const auto it = std::find(graphemes_.begin(), graphemes_.end(), std::string_view(&c, 1));
        *to++ = it == graphemes_.end() ? unknown_ : it - graphemes_.begin();
      }
      lengths.data<int32_t>()[i] = static_cast<int32_t>(word.size() + 1);
    }
    return module_.network("encoder").run({ids, lengths}).at(0);
  }

  Module& module_;
  WordTable dictionary_;  ///< word -> where its line begins
  std::map<std::string, Homograph> homographs_;
  std::vector<std::string> graphemes_, phonemes_;
  int64_t unknown_ = 0, word_end_ = 0, begin_ = 0, end_ = 0;
};

}  // namespace

std::unique_ptr<Pronouncer> english_pronouncer(Module& module, Fields& fields) {
  return std::make_unique<English>(module, fields);
}

}  // namespace hub
