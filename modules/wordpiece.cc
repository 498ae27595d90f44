#include "modules/wordpiece.h"

#include "base/error.h"
#include "base/text.h"
#include "modules/bert_text.h"

namespace hub {
namespace {

constexpr size_t longest_word = 100;  ///< code points; a longer word is unknown

}  // namespace

WordPiece::WordPiece(const MappedFile& vocabulary, bool lowercase)
    : table_(vocabulary, '\n'), lowercase_(lowercase) {
  int32_t id = 0;
  for (std::string_view token : lines(vocabulary.text())) {
    if (id > WordTable::most)
      fail(Code::refused, "the vocabulary has more than ", WordTable::most, " lines");
    table_.add(token, id++);
  }
  unknown_ = need("[UNK]");
  begin_ = need("[CLS]");
  end_ = need("[SEP]");
  pad_ = need("[PAD]");
}

int64_t WordPiece::need(std::string_view token) const {
  const auto id = table_.find(token);
  if (!id)
    fail(Code::refused, "the vocabulary has no ", token, " line; it is not a BERT vocabulary");
  return *id;
}

void WordPiece::append_word(std::string_view word, std::vector<int64_t>& ids) const {
  const size_t before = ids.size();
  std::string piece;
  for (size_t at = 0; at < word.size();) {
    // The longest piece that the vocabulary has; cut points lie between code points only.
    piece = at == 0 ? "" : "##";
    const size_t prefix = piece.size();
    piece += word.substr(at);
    std::optional<int32_t> id;
    while (piece.size() > prefix && !(id = table_.find(piece))) {
      while ((static_cast<unsigned char>(piece.back()) & 0xc0) == 0x80) piece.pop_back();
      piece.pop_back();
    }
    if (!id) {
      ids.resize(before);
      ids.push_back(unknown_);
      return;
    }
    ids.push_back(*id);
    at += piece.size() - prefix;
  }
}

Tokens WordPiece::encode(std::string_view text, size_t max_length) const {
  Tokens tokens;
  tokens.ids.push_back(begin_);
  for (const std::u32string& word : bert_words(decode_utf8(text), lowercase_)) {
    if (word.size() > longest_word) {
      tokens.ids.push_back(unknown_);
    } else {
      append_word(encode_utf8(word), tokens.ids);
    }
  }
  if (tokens.ids.size() + 1 > max_length) {
    tokens.dropped = tokens.ids.size() + 1 - max_length;
    tokens.ids.resize(max_length - 1);
  }
  tokens.ids.push_back(end_);
  return tokens;
}

}  // namespace hub
