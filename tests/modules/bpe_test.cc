// Byte-pair encoding against ids of the package `tokenizers` 0.23.3, with the tokenizer of
// wordllama.
#include "modules/bpe.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "base/digest.h"
#include "base/error.h"
#include "base/text.h"
#include "tests/modules/default_module.h"

using namespace hub;
using Ids = std::vector<int64_t>;

namespace {

const Bpe& tokenizer() {
  static const Bpe made(
      installed("wordllama").files->open(RelPath::parse("tokenizer.json")).text());
  return made;
}

/// A tokenizer.json of the right kind with the 256 bytes, ids 0 to 255, and these pieces after
/// them.
json small_file(const std::vector<std::string>& pieces, const std::vector<std::string>& merges) {
  json vocab = json::object();
  for (int byte = 0; byte < 256; ++byte) {
    char name[8];
    std::snprintf(name, sizeof name, "<0x%02X>", byte);
    vocab[name] = byte;
  }
  for (const std::string& piece : pieces) vocab[piece] = vocab.size();
  const json parts = {{{"type", "Prepend"}, {"prepend", "\u2581"}},
                      {{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", "\u2581"}}};
  return {
      {"normalizer", {{"type", "Sequence"}, {"normalizers", parts}}},
      {"pre_tokenizer", nullptr},
      {"model", {{"type", "BPE"}, {"byte_fallback", true}, {"vocab", vocab}, {"merges", merges}}}};
}

}  // namespace

TEST_CASE("short texts give the package's ids") {
  const std::pair<const char*, Ids> rows[] = {
      {"A man is playing a guitar", {319, 767, 338, 8743, 263, 11210}},
      {"", {}},
      {" ", {259}},
      {"  two  blanks ", {259, 1023, 29871, 1999, 1331, 29871}},
      {"百度是一家", {29871, 31047, 30898, 30392, 30287, 30613}},
      {"naïve café 😀", {1055, 30085, 345, 274, 28059, 29871, 243, 162, 155, 131}},
      {"\u2581x", {29871, 921}},
      {"a\nb\tc", {263, 13, 29890, 12, 29883}},
  };
  for (const auto& [text, ids] : rows) {
    INFO(text);
    CHECK(tokenizer().encode(text) == ids);
  }
  // What the package reads as a control token is text here.
  CHECK(tokenizer().encode("<s>") == Ids{529, 29879, 29958});
}

TEST_CASE("ten thousand mixed lines give the package's ids") {
  const std::string text = read_file(HUB_BINARY_DIR "/wordpiece_lines.txt");
  Sha256 digest;
  for (std::string_view line : split(std::string_view(text).substr(0, text.size() - 1), '\n')) {
    std::string ids;
    for (const int64_t id : tokenizer().encode(line)) ids += concat(ids.empty() ? "" : " ", id);
    digest.add(ids + "\n");
  }
  CHECK(digest.finish().hex() ==
        "5803f050f8d25b6dbd7ef844d08380ccf9691847c80c0f0e00924236aa3dfccb");
}

TEST_CASE("a tokenizer of one's own, and of other kinds") {
  const json good = small_file({"\u2581", "a", "b", "ab", "ba", "\u2581a"}, {"a b", "b a"});
  const Bpe small(good.dump());
  CHECK(small.encode("abab") == Ids{256, 259, 259});
  CHECK(small.encode("baé") == Ids{256, 260, 0xc3, 0xa9});

  const auto refused = [&](const char* place, const json& value) {
    json file = good;
    file[json::json_pointer(place)] = value;
    INFO(place);
    CHECK_THROWS_AS(Bpe(file.dump()), Error);
  };
  refused("/model/type", "WordPiece");
  refused("/model/byte_fallback", false);
  refused("/model/end_of_word_suffix", "</w>");
  refused("/model/vocab", json::array());
  refused("/model/vocab/a", -1);
  refused("/model/vocab", {{"a", 0}});  // without bytes
  refused("/model/merges", {"ab"});
  refused("/model/merges", {"a x"});
  refused("/normalizer", nullptr);
  refused("/normalizer/normalizers/0/prepend", "_");
  refused("/pre_tokenizer", {{"type", "ByteLevel"}});
  CHECK_THROWS_AS(Bpe("[]"), Error);
  CHECK_THROWS_AS(Bpe("{"), Error);
}
