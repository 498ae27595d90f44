// Sequence labelling: a tag for every token of a text, and the chunks that the tags mark.
// preprocess: as text_encoder.h, where tokens are words and stand where their first piece does; or
// tokenizer "characters" with words and q2b (lac_segment.h), for networks over rows with offsets,
// where tokens are code points. postprocess: labels (a file of tags). Outputs: logits [tokens,
// tags] and, of a CRF, the best path [tokens, 1].
#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text.h"
#include "hub/fields.h"
#include "modules/bert_text.h"
#include "modules/labels.h"
#include "modules/lac_segment.h"
#include "modules/text_encoder.h"

namespace hub {
namespace {

constexpr size_t most_rows = 32;

/// "B-PER" or "PER-B" as mark and kind; any other tag is a kind without a mark.
struct Tag {
  char mark = 0;
  std::string kind;
};

Tag parse_tag(const std::string& tag) {
  const std::string_view marks = "BIMESLU";
  const size_t n = tag.size();
  if (n > 2 && tag[1] == '-' && marks.find(tag[0]) != marks.npos) return {tag[0], tag.substr(2)};
  if (n > 2 && tag[n - 2] == '-' && marks.find(tag[n - 1]) != marks.npos)
    return {tag[n - 1], tag.substr(0, n - 2)};
  return {0, tag};
}

bool continues(const Tag& before, const Tag& tag) {
  const auto one_of = [](char c, std::string_view marks) { return marks.find(c) != marks.npos; };
  return before.kind == tag.kind && one_of(before.mark, "BIM") && one_of(tag.mark, "IMEL");
}

class SequenceLabelling final : public Task {
 public:
  explicit SequenceLabelling(Module& module) : module_(module) {
    const Manifest& m = module.manifest();
    Fields post(m.postprocess, m.id() + ": postprocess");
    for (const std::string& tag : read_labels(module, post.path("labels")))
      tags_.push_back(parse_tag(tag));
    post.done();
    network_ = m.networks.begin()->first;
    if (m.preprocess.value("tokenizer", "") != "characters") {
      encoder_.emplace(module);
      return;
    }
    Fields pre(m.preprocess, m.id() + ": preprocess");
    pre.choice("tokenizer", {"characters"});
    const RelPath words = pre.path("words"), replacements = pre.path("q2b");
    pre.done();
    within(concat(m.id(), ": ", words.str(), " and ", replacements.str()), [&] {
      vocabulary_.emplace(module.files().open(words), module.files().open(replacements));
    });
  }

  InputKind input() const override { return InputKind::text; }
  size_t batch() const override { return most_rows; }

  std::vector<Tensor> encode(std::span<const Sample> samples) override {
    return encoder_ ? encode_pieces(samples) : encode_characters(samples);
  }

  std::vector<json> decode(std::span<const Sample> samples, std::span<const Tensor> outputs,
                           const RunOptions&) override {
    std::vector<std::vector<TextSpan>> spans;
    size_t count = 0;
    for (const Sample& sample : samples) {
      spans.push_back(token_spans(sample));
      count += spans.back().size();
    }
    const std::vector<size_t> path = best_tags(outputs, count);
    std::vector<json> all;
    size_t at = 0;
    for (size_t i = 0; i < samples.size(); ++i) {
      all.push_back(words(samples[i], spans[i], std::span(path).subspan(at, spans[i].size())));
      at += spans[i].size();
    }
    return all;
  }

  std::vector<json> predict(std::span<const Sample> samples, const RunOptions& options) override {
    std::vector<json> all;
    while (!samples.empty()) {
      const auto some = samples.first(std::min(most_rows, samples.size()));
      samples = samples.subspan(some.size());
      const bool nothing = std::all_of(some.begin(), some.end(), [&](const Sample& sample) {
        return token_spans(sample).empty();
      });
      std::vector<Tensor> outputs;
      if (!nothing) outputs = module_.network(network_).run(encode(some));
      for (json& result : decode(some, outputs, options)) all.push_back(std::move(result));
    }
    return all;
  }

 private:
  /// The tokens that the data has, or words or code points.
  std::vector<TextSpan> token_spans(const Sample& sample) const {
    if (const size_t bad = first_invalid_utf8(sample.text); bad != std::string_view::npos)
      fail(Code::refused, "'", printable(sample.name), "': byte ", bad, " is not valid UTF-8");
    const std::u32string text = decode_utf8(sample.text);
    if (sample.tokens.empty()) {
      if (encoder_) return bert_word_spans(text, true);
      std::vector<TextSpan> spans;
      for (size_t i = 0; i < text.size(); ++i) spans.push_back({i, i + 1});
      return spans;
    }
    std::vector<TextSpan> spans;
    size_t at = 0;
    for (const std::string& token : sample.tokens) {
      const std::u32string points = decode_utf8(token);
      const size_t start = text.find(points, at);
      if (start == text.npos)
        fail(Code::usage, "'", printable(sample.name), "': the token '", printable(token),
             "' is not in the text");
      spans.push_back({start, at = start + points.size()});
    }
    return spans;
  }

  /// Pieces of the words, in as many rows a text as it takes; input `rows` says where each word
  /// begins in all of them.
  std::vector<Tensor> encode_pieces(std::span<const Sample> samples) const {
    const WordPiece& pieces = encoder_->tokenizer();
    const std::vector<int64_t> frame = pieces.encode("", 2).ids;
    const size_t most = encoder_->max_length();
    if (most < 3) fail(Code::refused, module_.manifest().id(), ": max_length is below 3");
    std::vector<std::vector<int64_t>> texts;
    std::vector<std::pair<size_t, size_t>> places;  // row and column of each word
    std::vector<int64_t> offsets{0};
    for (const Sample& sample : samples) {
      const auto ends = code_point_ends(sample.text);
      texts.push_back({frame[0]});
      for (const TextSpan span : token_spans(sample)) {
        std::vector<int64_t> ids = pieces.encode(part_of(sample.text, ends, span), most).ids;
        ids = {ids.begin() + 1, ids.end() - 1};
        if (ids.empty()) ids.push_back(pieces.unknown());
        if (texts.back().size() + ids.size() + 1 > most) {
          texts.back().push_back(frame[1]);
          texts.push_back({frame[0]});
        }
        places.emplace_back(texts.size() - 1, texts.back().size());
        texts.back().insert(texts.back().end(), ids.begin(), ids.end());
      }
      texts.back().push_back(frame[1]);
      offsets.push_back(static_cast<int64_t>(places.size()));
    }
    std::vector<Tensor> inputs = encoder_->batch(texts, 8);
    const std::vector<std::string>& names = module_.input_names(network_);
    const auto input = [&](std::string_view name) {
      return static_cast<size_t>(std::find(names.begin(), names.end(), name) - names.begin());
    };
    std::vector<int64_t> rows;
    if (input("input_ids") == names.size() || input("rows") == names.size())
      fail(Code::refused, module_.manifest().id(), ": the network has no head for tags");
    const auto length = static_cast<size_t>(inputs[input("input_ids")].shape()[1]);
    for (const auto& [row, column] : places)
      rows.push_back(static_cast<int64_t>(row * length + column));
    inputs[input("rows")] = Tensor::ints(rows);
    if (input("offsets") < names.size()) inputs[input("offsets")] = Tensor::ints(offsets);
    return inputs;
  }

  std::vector<Tensor> encode_characters(std::span<const Sample> samples) const {
    std::vector<int64_t> ids, offsets{0};
    for (const Sample& sample : samples) {
      const auto ends = code_point_ends(sample.text);
      for (const TextSpan span : token_spans(sample))
        ids.push_back(vocabulary_->id(part_of(sample.text, ends, span)));
      if (static_cast<int64_t>(ids.size()) > offsets.back())
        offsets.push_back(static_cast<int64_t>(ids.size()));
    }
    std::vector<Tensor> inputs;
    for (const std::string& name : module_.input_names(network_)) {
      inputs.push_back(name.ends_with("offsets")
                           ? Tensor::ints(offsets)
                           : Tensor::ints(ids).reshaped({static_cast<int64_t>(ids.size()), 1}));
    }
    return inputs;
  }

  std::vector<size_t> best_tags(std::span<const Tensor> outputs, size_t count) const {
    std::vector<size_t> path;
    if (count == 0) return path;
    const size_t n = tags_.size();
    const Spec wanted{DType::f32, {static_cast<int64_t>(count), static_cast<int64_t>(n)}};
    if (outputs.empty() || outputs[0].spec() != wanted)
      fail(Code::refused, module_.manifest().id(), ": the network gives ",
           outputs.empty() ? "nothing" : outputs[0].spec().str(), ", wanted ", wanted.str(),
           " for the ", n, " tags of the manifest");
    if (outputs.size() > 1) {
      for (const int64_t tag : outputs[1].to_ints()) path.push_back(static_cast<size_t>(tag));
      return path;
    }
    const float* z = outputs[0].data<float>();
    for (size_t i = 0; i < count; ++i, z += n)
      path.push_back(static_cast<size_t>(std::max_element(z, z + n) - z));
    return path;
  }

  json words(const Sample& sample, const std::vector<TextSpan>& spans,
             std::span<const size_t> path) const {
    const auto ends = code_point_ends(sample.text);
    std::vector<std::pair<TextSpan, const Tag*>> found;
    for (size_t i = 0; i < spans.size(); ++i) {
      const Tag& tag = tags_.at(path[i]);
      if (!found.empty() && continues(*found.back().second, tag)) {
        found.back() = {{found.back().first.start, spans[i].end}, &tag};
      } else {
        found.emplace_back(spans[i], &tag);
      }
    }
    json list = json::array();
    for (const auto& [span, tag] : found) {
      list.push_back({{"text", part_of(sample.text, ends, span)},
                      {"tag", tag->kind},
                      {"start", span.start},
                      {"end", span.end}});
    }
    return {{"words", std::move(list)}};
  }

  Module& module_;
  std::string network_;
  std::optional<TextEncoder> encoder_;
  std::optional<LacVocabulary> vocabulary_;
  std::vector<Tag> tags_;
};

}  // namespace

std::unique_ptr<Task> make_sequence_labelling(Module& module) {
  return std::make_unique<SequenceLabelling>(module);
}

}  // namespace hub
