// Text generation: the text goes on, a character at a time, through one network that sees the last
// few of them. preprocess: vocab (a JSON file, characters and their numbers; 0 is what it does not
// know), context (characters that the network sees; 0 stands before the first), start (the token
// that begins and ends texts); postprocess: length (characters at most, the given ones not
// counted).
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "base/error.h"
#include "base/random.h"
#include "base/text.h"
#include "hub/fields.h"
#include "modules/module.h"

namespace hub {
namespace {

constexpr int most_length = 100'000;

class TextGeneration final : public Task {
 public:
  explicit TextGeneration(Module& module) : module_(module) {
    Fields pre(module.manifest().preprocess, module.manifest().id() + ": preprocess");
    context_ = pre.integer("context", 1, 1 << 16);
    const std::string start = pre.text("start");
    read_vocab(pre.path("vocab"), start);
    pre.done();
    Fields post(module.manifest().postprocess, module.manifest().id() + ": postprocess");
    length_ = static_cast<int>(post.integer("length", 1, most_length));
    post.done();
  }

  InputKind input() const override { return InputKind::text; }

  std::vector<json> predict(std::span<const Sample> samples, const RunOptions& options) override {
    if (!(options.temperature >= 0 && options.temperature <= 100))
      fail(Code::usage, "temperature is ", options.temperature, ", wanted 0 to 100");
    if (options.length < 0 || options.length > most_length)
      fail(Code::usage, "length is ", options.length, ", wanted 1 to ", most_length);
    std::vector<json> results;
    for (const Sample& sample : samples) results.push_back({{"text", continued(sample, options)}});
    return results;
  }

 private:
  void read_vocab(const RelPath& path, const std::string& start) {
    const json vocab = parse_json(module_.files().open(path).text());
    if (!vocab.is_object() || vocab.empty() || vocab.size() > 1'000'000)
      fail(Code::refused, path.str(), ": an object of characters and numbers is wanted");
    words_.resize(vocab.size() + 1);
    for (const auto& [word, number] : vocab.items()) {
      if (!number.is_number_unsigned() || number == 0 || number > vocab.size() ||
          !words_[number.get<size_t>()].empty() || word.empty())
        fail(Code::refused, path.str(), ": '", printable(word), "' has the number ", number.dump(),
             ", wanted each from 1 to ", vocab.size(), " once");
      words_[number.get<size_t>()] = word;
      if (word == start) {
        start_ = number.get<int64_t>();
      } else if (const std::u32string c = decode_utf8(word); c.size() == 1) {
        numbers_[c[0]] = number.get<int64_t>();
      }
    }
    if (start_ == 0)
      fail(Code::refused, path.str(), " has no '", printable(start), "', the start token");
  }

  std::string continued(const Sample& sample, const RunOptions& options) {
    std::vector<int64_t> ids(static_cast<size_t>(context_), 0);
    ids.push_back(start_);
    for (const char32_t c : decode_utf8(sample.text)) {
      const auto it = numbers_.find(c);
      ids.push_back(it == numbers_.end() ? 0 : it->second);
    }
    std::string text = sample.text;
    SplitMix64 random(options.seed);
    for (int i = 0; i < (options.length > 0 ? options.length : length_); ++i) {
      const size_t next = choose(logits(ids, sample.name), options.temperature, random);
      if (static_cast<int64_t>(next) == start_) break;
      text += words_[next];
      ids.push_back(static_cast<int64_t>(next));
    }
    return text;
  }

  std::vector<float> logits(const std::vector<int64_t>& ids, const std::string& name) {
    const std::span<const int64_t> seen(ids.data() + ids.size() - static_cast<size_t>(context_),
                                        static_cast<size_t>(context_));
    const Tensor found =
        module_.network("main").run({Tensor::of<int64_t>({1, context_}, seen)}).at(0);
    if (found.dtype() != DType::f32 ||
        found.shape() != Shape{1, static_cast<int64_t>(words_.size())})
      fail(Code::refused, module_.manifest().id(), ": the network gives ", found.spec().str(),
           ", wanted float32[1, ", words_.size(), "], a number a character");
    const auto values = found.values<float>();
    if (std::any_of(values.begin(), values.end(), [](float v) { return !std::isfinite(v); }))
      fail(Code::numeric, name, ": the network gave scores that are not numbers");
    return {values.begin(), values.end()};
  }

  /// The likeliest, or drawn by softmax(logits / temperature); never 0, which is no character.
  static size_t choose(const std::vector<float>& logits, double temperature, SplitMix64& random) {
    const auto best = std::max_element(logits.begin() + 1, logits.end());
    if (temperature == 0) return static_cast<size_t>(best - logits.begin());
    std::vector<double> sums;
    double sum = 0;
    for (size_t i = 1; i < logits.size(); ++i)
      sums.push_back(sum += std::exp((double{logits[i]} - *best) / temperature));
    const double at = static_cast<double>(random.next() >> 11) * 0x1p-53 * sum;
    const auto drawn = std::upper_bound(sums.begin(), sums.end() - 1, at);
    return static_cast<size_t>(drawn - sums.begin()) + 1;
  }

  Module& module_;
  int64_t context_ = 0, start_ = 0;
  int length_ = 0;
  std::vector<std::string> words_;  ///< by number
  std::unordered_map<char32_t, int64_t> numbers_;
};

}  // namespace

std::unique_ptr<Task> make_text_generation(Module& module) {
  return std::make_unique<TextGeneration>(module);
}

}  // namespace hub
