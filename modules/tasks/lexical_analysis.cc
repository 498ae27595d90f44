// Lexical analysis as LAC does it: words with their tags and, with postprocess.rank, their
// importance from 0 to 3. Networks "lac" and "rank"; preprocess: words, q2b (files) and, for
// networks that read words and not characters, segment (a file); postprocess: tags (a file; where
// none has a name before its -B, -I, -E or -S, words get no tag), rank (true or false).
#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.h"
#include "base/text.h"
#include "hub/fields.h"
#include "modules/lac_segment.h"
#include "modules/module.h"

namespace hub {
namespace {

/// The texts of one call that are not empty, one after the other as the network takes them.
struct Batch {
  std::vector<int64_t> words, offsets{0};
  std::vector<LacUnits> units;            ///< one a text
  std::vector<std::vector<size_t>> ends;  ///< one a text
};

std::vector<TextSpan> one_by_one(const std::vector<size_t>& ends) {
  std::vector<TextSpan> pieces;
  for (size_t i = 0; i < ends.size(); ++i) pieces.push_back({i, i + 1});
  return pieces;
}

class LexicalAnalysis final : public Task {
 public:
  explicit LexicalAnalysis(Module& module);
  InputKind input() const override { return InputKind::text; }
  std::vector<json> predict(std::span<const Sample> samples, const RunOptions& options) override;
  size_t batch() const override { return 64; }

 private:
  Batch encode(std::span<const Sample> samples) const;
  std::vector<int64_t> run(
      const std::string& network, const Batch& batch,
      const std::vector<std::pair<std::string, const std::vector<int64_t>*>>& inputs);
  json decode(const Sample& sample, const Batch& batch, size_t text, std::span<const int64_t> tags,
              std::span<const int64_t> ranks) const;

  Module& module_;
  bool ranked_ = false, tagged_ = false;
  std::unique_ptr<LacSegmenter> segmenter_;  ///< null: every code point is a unit
  std::unique_ptr<LacVocabulary> vocabulary_;
  std::vector<std::string> tags_;
};

LexicalAnalysis::LexicalAnalysis(Module& module) : module_(module) {
  const std::string id = module.manifest().id();
  Fields pre(module.manifest().preprocess, id + ": preprocess");
  Fields post(module.manifest().postprocess, id + ": postprocess");
  std::optional<RelPath> dictionary;
  if (pre.has("segment")) dictionary = pre.path("segment");
  const RelPath words = pre.path("words");
  const RelPath replacements = pre.path("q2b"), tags = post.path("tags");
  ranked_ = post.boolean("rank");
  pre.done();
  post.done();
  if (dictionary) {
    within(concat(id, ": ", dictionary->str()),
           [&] { segmenter_ = std::make_unique<LacSegmenter>(module.files().open(*dictionary)); });
  }
  within(concat(id, ": ", words.str(), " and ", replacements.str()), [&] {
    vocabulary_ = std::make_unique<LacVocabulary>(module.files().open(words),
                                                  module.files().open(replacements));
  });
  within(concat(id, ": ", tags.str()),
         [&] { tags_ = read_lac_tags(module.files().open(tags).text()); });
  tagged_ = std::any_of(tags_.begin(), tags_.end(),
                        [](const std::string& tag) { return tag.size() > 2; });
}

Batch LexicalAnalysis::encode(std::span<const Sample> samples) const {
  Batch batch;
  for (const Sample& sample : samples) {
    if (const size_t bad = first_invalid_utf8(sample.text); bad != std::string_view::npos) {
      fail(Code::refused, "'", printable(sample.name), "': byte ", bad, " is not valid UTF-8");
    }
    batch.ends.push_back(code_point_ends(sample.text));
    const std::vector<size_t>& ends = batch.ends.back();
    batch.units.push_back(vocabulary_->units(
        sample.text, ends, segmenter_ ? segmenter_->cut(sample.text, ends) : one_by_one(ends)));
    const std::vector<int64_t>& ids = batch.units.back().ids;
    if (ids.empty()) continue;
    batch.words.insert(batch.words.end(), ids.begin(), ids.end());
    batch.offsets.push_back(static_cast<int64_t>(batch.words.size()));
  }
  return batch;
}

/// Each list goes in as [T, 1] with its sequences in "<name>.offsets"; back comes one number a row.
std::vector<int64_t> LexicalAnalysis::run(
    const std::string& network, const Batch& batch,
    const std::vector<std::pair<std::string, const std::vector<int64_t>*>>& inputs) {
  Session& session = module_.network(network);
  const auto rows = static_cast<int64_t>(batch.words.size());
  std::vector<Tensor> tensors(session.program().inputs.size());
  for (const auto& [name, values] : inputs) {
    tensors[session.input_index(name)] = Tensor::ints(*values).reshaped({rows, 1});
    tensors[session.input_index(name + ".offsets")] = Tensor::ints(batch.offsets);
  }
  const Tensor out = session.run(tensors)[0];
  if (out.numel() != rows) {
    fail(Code::refused, module_.manifest().id(), ": network '", network, "' gave ",
         out.spec().str(), " for ", rows, " units, wanted a number each");
  }
  return out.to_ints();
}

json LexicalAnalysis::decode(const Sample& sample, const Batch& batch, size_t text,
                             std::span<const int64_t> tags, std::span<const int64_t> ranks) const {
  struct Word {
    TextSpan span;
    std::string_view tag;
    int64_t rank;
  };
  std::vector<Word> words;
  const std::vector<TextSpan>& units = batch.units[text].units;
  for (size_t i = 0; i < units.size(); ++i) {
    const auto id = static_cast<size_t>(tags[i]);
    if (id >= tags_.size())
      fail(Code::refused, module_.manifest().id(), ": tag ", tags[i], " has no name");
    const std::string_view tag = tags_[id];
    const std::string_view kind = tag.substr(0, tag.size() < 2 ? 0 : tag.size() - 2);
    const int64_t rank = ranks.empty() ? 0 : ranks[i];
    if (words.empty() || tag.ends_with('B') || tag.ends_with('S')) {
      words.push_back({units[i], kind, rank});
    } else {
      words.back() = {
          {words.back().span.start, units[i].end}, kind, std::max(words.back().rank, rank)};
    }
  }
  json list = json::array();
  const std::vector<size_t>& ends = batch.ends[text];
  for (const Word& word : words) {
    const size_t from = word.span.start == 0 ? 0 : ends[word.span.start - 1];
    json item = {{"text", sample.text.substr(from, ends[word.span.end - 1] - from)},
                 {"start", word.span.start},
                 {"end", word.span.end}};
    if (tagged_) item["tag"] = word.tag;
    if (!ranks.empty()) item["rank"] = word.rank;
    list.push_back(std::move(item));
  }
  return {{"words", std::move(list)}};
}

std::vector<json> LexicalAnalysis::predict(std::span<const Sample> samples, const RunOptions&) {
  const Batch batch = encode(samples);
  std::vector<int64_t> tags, ranks;
  if (!batch.words.empty()) tags = run("lac", batch, {{"words", &batch.words}});
  if (!batch.words.empty() && ranked_)
    ranks = run("rank", batch, {{"word", &batch.words}, {"entity", &tags}});
  std::vector<json> out;
  size_t at = 0;
  for (size_t i = 0; i < samples.size(); ++i) {
    const size_t count = batch.units[i].ids.size();
    out.push_back(decode(samples[i], batch, i, std::span(tags).subspan(at, count),
                         std::span(ranks).subspan(ranked_ ? at : 0, ranked_ ? count : 0)));
    at += count;
  }
  return out;
}

}  // namespace

std::unique_ptr<Task> make_lexical_analysis(Module& module) {
  return std::make_unique<LexicalAnalysis>(module);
}

}  // namespace hub
