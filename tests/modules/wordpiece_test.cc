// WordPiece against ids of the package `tokenizers` 0.23.3, with the vocabulary of minilm-l6.
#include "modules/wordpiece.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "base/digest.h"
#include "base/error.h"
#include "base/text.h"
#include "tests/modules/default_module.h"

using namespace hub;
using Ids = std::vector<int64_t>;

namespace {

constexpr size_t no_limit = size_t{1} << 30;

const WordPiece& tokenizer() {
  static const WordPiece made(installed("minilm-l6").files->open(RelPath::parse("vocab.txt")));
  return made;
}

json test_data(const std::string& name) {
  return json::parse(read_file(HUB_SOURCE_DIR "/tests/data/text/" + name));
}

MappedFile vocabulary(const std::string& text) {
  const std::string path = HUB_BINARY_DIR "/wordpiece_test_vocab.txt";
  write_file(path, text);
  return MappedFile::open(path);
}

}  // namespace

TEST_CASE("the collected cases give the right ids") {
  for (const json& one : test_data("wordpiece_uncased.json")) {
    INFO(one["name"]);
    if (!one.contains("text")) continue;
    const Ids wanted = one[one.contains("tokenizers_ids") ? "tokenizers_ids" : "ids"];
    CHECK(tokenizer().encode(one["text"].get<std::string>(), no_limit).ids == wanted);
  }
}

TEST_CASE("a long text is cut to the limit and keeps its end token") {
  std::string text;
  for (int i = 0; i < 1500; ++i)
    text += concat(i == 0 ? "" : " ", i % 3 == 0 ? "good" : i % 3 == 1 ? "movie" : "!");
  for (const json& one : test_data("wordpiece_uncased.json")) {
    if (!one.contains("text_rule")) continue;
    INFO(one["name"]);
    const Tokens got = tokenizer().encode(text, one["max_length"]);
    const Ids head = one["head"], tail = one["tail"];
    REQUIRE(got.ids.size() == one["len"].get<size_t>());
    CHECK(Ids(got.ids.begin(), got.ids.begin() + 6) == head);
    CHECK(Ids(got.ids.end() - 6, got.ids.end()) == tail);
    CHECK(got.dropped == 1502 - got.ids.size());
  }
  CHECK(tokenizer().encode("hello", 2).ids == Ids{101, 102});
  CHECK(tokenizer().encode("hello", 3).dropped == 0);
}

TEST_CASE("text that looks like a control token stays text") {
  CHECK(tokenizer().encode("a [SEP] b [MASK]", no_limit).ids ==
        Ids{101, 1037, 1031, 19802, 1033, 1038, 1031, 7308, 1033, 102});
}

TEST_CASE("ten thousand lines give the ids of the reference") {
  for (const json& one : test_data("wordpiece_lines.json")) {
    INFO("line " << one["line"]);
    CHECK(tokenizer().encode(one["text"].get<std::string>(), no_limit).ids ==
          one["ids"].get<Ids>());
  }
  const std::string text = read_file(HUB_BINARY_DIR "/wordpiece_lines.txt");
  Sha256 text_digest, ids_digest;
  text_digest.add(text);
  size_t count = 0;
  for (std::string_view line : split(std::string_view(text).substr(0, text.size() - 1), '\n')) {
    std::string ids;
    for (int64_t id : tokenizer().encode(line, no_limit).ids)
      ids += concat(ids.empty() ? "" : " ", id);
    ids_digest.add(ids + "\n");
    ++count;
  }
  CHECK(count == 10000);
  // Of the files that scripts/wordpiece_lines.py writes with tokenizers 0.23.3.
  CHECK(text_digest.finish().hex() ==
        "eaf0a0a900ec45013e19b3b2b6275b3bcd60b5be497c0158e661ab4ee52f1077");
  CHECK(ids_digest.finish().hex() ==
        "9c58fccd0ec2b31da150e036a293d18943a53698963237b7f7562c5af234595a");
}

TEST_CASE("a vocabulary of one's own") {
  const std::string small = "[PAD]\n[UNK]\n[CLS]\n[SEP]\nun\n##able\n##a\nÉ\n字\n";
  const auto ids = [&](std::string_view text, bool lowercase) {
    return WordPiece(vocabulary(small), lowercase).encode(text, no_limit).ids;
  };
  CHECK(ids("unable una unb", true) == Ids{2, 4, 5, 4, 6, 1, 3});
  CHECK(ids("É", true) == Ids{2, 1, 3});  // becomes a plain e, which is not there
  CHECK(ids("É字É", false) == Ids{2, 7, 8, 7, 3});
  CHECK(ids("un\xffun", true) == Ids{2, 1, 3});  // the invalid byte is dropped, "unun" is one word
  CHECK_THROWS_WITH(WordPiece(vocabulary("[PAD]\n[UNK]\n[CLS]\nun\n")), Catch::Contains("[SEP]"));
  CHECK_THROWS_AS(WordPiece(vocabulary("")), Error);
}
