#include "modules/byte_vocabulary.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"

namespace hub {

ByteVocabulary::ByteVocabulary(MappedFile file) : file_(std::move(file)) {
  if (const size_t at = first_invalid_utf8(file_.text()); at != std::string_view::npos)
    fail(Code::refused, "the vocabulary is not UTF-8 at byte ", at);
  tokens_ = lines(file_.text());
  // Bytes that are visible in Latin-1 stand for themselves, the others for U+0100 and on.
  char32_t next = 0x100;
  for (int byte = 0; byte < 256; ++byte) {
    const bool visible = (byte > 0x20 && byte < 0x7f) || (byte > 0xa0 && byte != 0xad);
    bytes_.emplace(visible ? static_cast<char32_t>(byte) : next++, static_cast<char>(byte));
  }
}

int64_t ByteVocabulary::id(std::string_view token) const {
  const auto it = std::ranges::find(tokens_, token);
  if (it == tokens_.end())
    fail(Code::refused, "the vocabulary has no token '", printable(token), "' among ",
         tokens_.size());
  return it - tokens_.begin();
}

std::string ByteVocabulary::text(std::span<const int64_t> ids) const {
  std::string bytes;
  for (const int64_t id : ids) {
    for (const char32_t c : decode_utf8(tokens_.at(static_cast<size_t>(id)))) {
      const auto it = bytes_.find(c);
      if (it != bytes_.end()) {
        bytes += it->second;
      } else {
        append_utf8(bytes, c);
      }
    }
  }
  return encode_utf8(decode_utf8(bytes));
}

}  // namespace hub
