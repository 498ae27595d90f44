// Reading comprehension: the part of a text that answers a question (text and text_b of a sample),
// or none. The network reads the question, then as much of the text as fits, and gives [B, S, 2]
// scores for the first and the last token. Answers begin and end with words or punctuation marks.
// preprocess: see text_encoder.h.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text.h"
#include "hub/fields.h"
#include "modules/bert_text.h"
#include "modules/text_task.h"

namespace hub {
namespace {

constexpr size_t longest_answer = 30;  ///< tokens

/// One question with its text as tokens.
struct Reading {
  std::vector<int64_t> ids;
  size_t first = 0;             ///< where the text begins
  std::vector<TextSpan> spans;  ///< of each token of the text: the word that it is a piece of
  size_t words = 0, read = 0;   ///< of the text: there are, and the network sees
};

class ReadingComprehension final : public TextTask {
 public:
  explicit ReadingComprehension(Module& module) : TextTask(module) {
    Fields(module.manifest().postprocess, module.manifest().id() + ": postprocess").done();
  }

  std::vector<Tensor> encode(std::span<const Sample> samples) override {
    std::vector<std::vector<int64_t>> texts;
    for (const Sample& sample : samples) {
      Reading reading = read(sample);
      if (reading.read < reading.words)
        module_.progress().note(concat("'", printable(sample.name.substr(0, 60)), "': the first ",
                                       reading.read, " of ", reading.words,
                                       " words are read, for an answer in what follows cut the "
                                       "text into parts"));
      texts.push_back(std::move(reading.ids));
    }
    return encoder_.batch(texts, 8);
  }

  std::vector<json> decode(std::span<const Sample> samples, std::span<const Tensor> outputs,
                           const RunOptions&) override {
    const bool fits =
        !outputs.empty() && outputs[0].dtype() == DType::f32 && outputs[0].shape().rank() == 3 &&
        outputs[0].shape()[0] == static_cast<int64_t>(samples.size()) && outputs[0].shape()[2] == 2;
    if (!fits)
      fail(Code::refused, module_.manifest().id(), ": the network gives ",
           outputs.empty() ? "nothing" : outputs[0].spec().str(), ", wanted two numbers a token");
    const auto length = static_cast<size_t>(outputs[0].shape()[1]);
    std::vector<json> all;
    for (size_t i = 0; i < samples.size(); ++i)
      all.push_back(answer(samples[i], outputs[0].data<float>() + i * length * 2, length));
    return all;
  }

  std::vector<json> predict(std::span<const Sample> samples, const RunOptions& options) override {
    for (const Sample& sample : samples) {
      if (trim(sample.text_b).empty())
        fail(Code::usage, "'", printable(sample.name.substr(0, 60)),
             "': reading comprehension wants a text and a question");
    }
    return TextTask::predict(samples, options);
  }

  std::pair<int64_t, int64_t> locate(const Sample& sample, int64_t start, int64_t end) override {
    if (start < 0) return {0, 0};
    const Reading reading = read(sample);
    std::pair<int64_t, int64_t> found{-1, -1};
    for (size_t i = 0; i < reading.spans.size(); ++i) {
      const TextSpan& span = reading.spans[i];
      if (static_cast<int64_t>(span.end) <= start || static_cast<int64_t>(span.start) >= end)
        continue;
      if (found.first < 0) found.first = static_cast<int64_t>(reading.first + i);
      found.second = static_cast<int64_t>(reading.first + i);
    }
    const bool whole = found.first >= 0 && static_cast<int64_t>(reading.spans.back().end) >= end;
    return whole ? found : std::pair<int64_t, int64_t>{-1, -1};
  }

 private:
  Reading read(const Sample& sample) const {
    for (const std::string* text : {&sample.text, &sample.text_b}) {
      if (const size_t bad = first_invalid_utf8(*text); bad != std::string_view::npos)
        fail(Code::refused, "'", printable(sample.name), "': byte ", bad, " is not valid UTF-8");
    }
    const size_t most = encoder_.max_length();
    const WordPiece& pieces = encoder_.tokenizer();
    Reading reading;
    reading.ids = pieces.encode(sample.text_b, std::max<size_t>(most / 2, 2)).ids;
    const int64_t end = reading.ids.back();
    reading.first = reading.ids.size();
    const auto ends = code_point_ends(sample.text);
    const auto spans = bert_word_spans(decode_utf8(sample.text), false);
    reading.words = spans.size();
    for (const TextSpan span : spans) {
      const auto ids = pieces.encode(part_of(sample.text, ends, span), most).ids;
      if (reading.ids.size() + ids.size() - 1 > most) break;
      ++reading.read;
      reading.ids.insert(reading.ids.end(), ids.begin() + 1, ids.end() - 1);
      reading.spans.insert(reading.spans.end(), ids.size() - 2, span);
    }
    reading.ids.push_back(end);
    return reading;
  }

  /// The likeliest pair of tokens, or no answer where [CLS] is likelier.
  json answer(const Sample& sample, const float* z, size_t length) const {
    const Reading reading = read(sample);
    double sums[2] = {0, 0}, most[2];
    for (size_t k = 0; k < 2; ++k) {
      most[k] = z[k];
      for (size_t i = 0; i < length; ++i) most[k] = std::max(most[k], double{z[2 * i + k]});
      for (size_t i = 0; i < length; ++i) sums[k] += std::exp(z[2 * i + k] - most[k]);
      if (!std::isfinite(sums[k]))
        fail(Code::numeric, "'", printable(sample.name.substr(0, 60)),
             "': the network gave scores that are not numbers");
    }
    const auto chance = [&](size_t i, size_t k) {
      return std::exp(z[2 * i + k] - most[k]) / sums[k];
    };
    double best = chance(0, 0) * chance(0, 1);
    TextSpan span{0, 0};
    for (size_t i = 0; i < reading.spans.size(); ++i) {
      const size_t last = std::min(reading.spans.size(), i + longest_answer);
      for (size_t k = i; k < last; ++k) {
        const double both = chance(reading.first + i, 0) * chance(reading.first + k, 1);
        if (both <= best) continue;
        best = both;
        span = {reading.spans[i].start, reading.spans[k].end};
      }
    }
    const std::string_view text = part_of(sample.text, code_point_ends(sample.text), span);
    return {{"answer", text}, {"start", span.start}, {"end", span.end}, {"score", best}};
  }
};

}  // namespace

std::unique_ptr<Task> make_reading_comprehension(Module& module) {
  return std::make_unique<ReadingComprehension>(module);
}

}  // namespace hub
