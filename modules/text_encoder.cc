#include "modules/text_encoder.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text.h"
#include "hub/fields.h"

namespace hub {

TextEncoder::TextEncoder(Module& module) : module_(module) {
  const std::string id = module.manifest().id();
  Fields pre(module.manifest().preprocess, id + ": preprocess");
  const bool wordpiece = pre.choice("tokenizer", {"wordpiece", "bpe"}) == "wordpiece";
  const RelPath vocabulary = pre.path("vocab");
  const bool lowercase = wordpiece && pre.boolean("lowercase");
  max_length_ = static_cast<size_t>(pre.integer("max_length", 2, 4096));
  pre.done();
  within(concat(id, ": ", vocabulary.str()), [&] {
    const MappedFile file = module.files().open(vocabulary);
    if (wordpiece) tokenizer_ = std::make_unique<WordPiece>(file, lowercase);
    if (!wordpiece) bpe_ = std::make_unique<Bpe>(file.text());
  });
}

const WordPiece& TextEncoder::tokenizer() const {
  if (!tokenizer_) {
    fail(Code::unsupported, module_.manifest().id(),
         ": this needs a WordPiece tokenizer, not a BPE");
  }
  return *tokenizer_;
}

std::vector<int64_t> TextEncoder::ids(const Sample& sample) const {
  for (const std::string* text : {&sample.text, &sample.text_b}) {
    if (const size_t bad = first_invalid_utf8(*text); bad != std::string_view::npos) {
      fail(Code::refused, "'", printable(sample.name), "': byte ", bad, " is not valid UTF-8");
    }
  }
  Tokens tokens = this->tokens(sample);
  if (tokens.dropped > 0) {
    module_.progress().note(concat("'", printable(sample.name.substr(0, 60)), "': ", tokens.dropped,
                                   " tokens dropped, the model reads ", max_length_));
  }
  return std::move(tokens.ids);
}

Tokens TextEncoder::tokens(const Sample& sample) const {
  if (bpe_) {
    if (!sample.text_b.empty()) tokenizer();
    Tokens tokens{bpe_->encode(sample.text)};
    tokens.dropped = tokens.ids.size() - std::min(tokens.ids.size(), max_length_);
    tokens.ids.resize(tokens.ids.size() - tokens.dropped);
    return tokens;
  }
  Tokens tokens = tokenizer_->encode(sample.text, max_length_);
  if (!sample.text_b.empty()) {
    // The longer one gives way, as long as there is something to give.
    Tokens second = tokenizer_->encode(sample.text_b, max_length_);
    const size_t end = static_cast<size_t>(tokens.ids.back());
    const size_t room = max_length_ + 1 - std::min(max_length_, size_t{3});
    size_t a = tokens.ids.size() - 2, b = second.ids.size() - 2;
    const size_t whole = a + b;
    while (a + b + 2 > room) (a > b ? a : b) -= 1;
    tokens.dropped += second.dropped + whole - a - b;
    tokens.ids.resize(a + 1);
    tokens.ids.push_back(static_cast<int64_t>(end));
    tokens.ids.insert(tokens.ids.end(), second.ids.begin() + 1,
                      second.ids.begin() + 1 + static_cast<std::ptrdiff_t>(b));
    tokens.ids.push_back(static_cast<int64_t>(end));
  }
  return tokens;
}

std::vector<Tensor> TextEncoder::batch(std::span<const std::vector<int64_t>* const> texts,
                                       size_t round) const {
  size_t length = 1;
  for (const auto* text : texts) length = std::max(length, text->size());
  length = std::min((length + round - 1) / round * round, std::max(max_length_, length));
  const int64_t pad = tokenizer_ ? tokenizer_->pad() : 0;
  const Shape shape{static_cast<int64_t>(texts.size()), static_cast<int64_t>(length)};
  Tensor ids(DType::i64, shape), mask(DType::i64, shape), types(DType::i64, shape);
  std::fill_n(types.data<int64_t>(), types.numel(), 0);
  for (size_t row = 0; row < texts.size(); ++row) {
    for (size_t i = 0; i < length; ++i) {
      const bool there = i < texts[row]->size();
      ids.data<int64_t>()[row * length + i] = there ? (*texts[row])[i] : pad;
      mask.data<int64_t>()[row * length + i] = there ? 1 : 0;
    }
  }
  const std::vector<std::string> names = module_.input_names("main");
  std::vector<Tensor> inputs(names.size());
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i] == "input_ids") inputs[i] = ids;
    if (names[i] == "attention_mask") inputs[i] = mask;
    if (names[i] == "token_type_ids") inputs[i] = types;
  }
  return inputs;
}

std::vector<Tensor> TextEncoder::batch(const std::vector<std::vector<int64_t>>& texts,
                                       size_t round) const {
  std::vector<const std::vector<int64_t>*> all;
  for (const auto& text : texts) all.push_back(&text);
  return batch(all, round);
}

}  // namespace hub
