// fastText's files: two made models, one quantised with a tree over the labels and few pieces left,
// one plain with a softmax and pairs of words, against the numbers of fasttext-predict 0.9.2.4; and
// damaged files.
#include "modules/fasttext.h"

#include <catch2/catch.hpp>
#include <cstring>

#include "tests/error_of.h"
#include "tests/runtime/files.h"

using namespace hub;

namespace {

std::string model(const std::string& name) {
  return read_file(concat(HUB_SOURCE_DIR, "/tests/data/text/", name));
}

/// `bytes` with an int32 in place of another one.
std::string changed(std::string bytes, size_t at, int32_t value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
  return bytes;
}

std::string refusal(Code code, const std::string& bytes) {
  return error_of(code, [&] { FastText(MappedFile::of(bytes)); });
}

struct Row {
  const char *file, *text;
  std::vector<std::pair<std::string, float>> labels;
};

}  // namespace

TEST_CASE("fastText: labels and probabilities are those of the package") {
  const Row rows[] = {
      {"tiny.ftz",
       "the bank",
       {{"en", 0.614781F},
        {"de", 0.157691F},
        {"ja", 0.126415F},
        {"ru", 0.057432F},
        {"fr", 0.043725F}}},
      {"tiny.ftz",
       "der ist straße",
       {{"en", 0.541137F},
        {"de", 0.208810F},
        {"ru", 0.125096F},
        {"ja", 0.096271F},
        {"fr", 0.028729F}}},
      {"tiny.ftz",
       "日本 и 日本語",
       {{"en", 0.750143F},
        {"de", 0.155600F},
        {"ja", 0.070341F},
        {"ru", 0.017710F},
        {"fr", 0.006248F}}},
      {"tiny.ftz",
       "",
       {{"fr", 0.303731F},
        {"ru", 0.249010F},
        {"de", 0.243818F},
        {"en", 0.106485F},
        {"ja", 0.097004F}}},
      {"tiny.ftz",
       "__label__en  x",
       {{"en", 0.752807F},
        {"ja", 0.151379F},
        {"fr", 0.084927F},
        {"de", 0.010373F},
        {"ru", 0.000557F}}},
      {"tiny.ftz",
       "the </s> der",
       {{"en", 0.611925F},
        {"de", 0.203899F},
        {"ru", 0.148676F},
        {"ja", 0.032307F},
        {"fr", 0.003233F}}},
      {"tiny.ftbin", "the bank", {{"de", 0.389349F}, {"ru", 0.317459F}, {"en", 0.293221F}}},
      {"tiny.ftbin", "der ist straße", {{"ru", 0.540545F}, {"en", 0.275670F}, {"de", 0.183815F}}},
      {"tiny.ftbin", "日本 и 日本語", {{"de", 0.417299F}, {"en", 0.345949F}, {"ru", 0.236783F}}},
      {"tiny.ftbin", "", {{"de", 0.654940F}, {"ru", 0.230288F}, {"en", 0.114802F}}},
      {"tiny.ftbin", "__label__en  x", {{"de", 0.487213F}, {"en", 0.364312F}, {"ru", 0.148505F}}},
      {"tiny.ftbin", "the </s> der", {{"en", 0.533329F}, {"ru", 0.283473F}, {"de", 0.183228F}}},
  };
  for (const Row& row : rows) {
    INFO(row.file << ": " << row.text);
    const MappedFile file = MappedFile::of(model(row.file));  // outlives the labels
    const FastText fasttext(file);
    const auto found = fasttext.predict(row.text);
    REQUIRE(found.size() == row.labels.size());
    for (size_t i = 0; i < found.size(); ++i) {
      CHECK(found[i].first == row.labels[i].first);
      CHECK(found[i].second == Approx(row.labels[i].second).margin(2e-6));
    }
  }
}

TEST_CASE("fastText: what cannot be read is named") {
  const std::string good = model("tiny.ftz");
  CHECK_THAT(refusal(Code::refused, "PK" + good), Catch::Contains("does not begin as one"));
  CHECK_THAT(refusal(Code::unsupported, changed(good, 4, 13)), Catch::Contains("version 13"));
  CHECK_THAT(refusal(Code::unsupported, changed(good, 32, 2)), Catch::Contains("loss is number 2"));
  CHECK_THAT(refusal(Code::unsupported, changed(good, 36, 1)), Catch::Contains("no classifier"));
  CHECK_THAT(refusal(Code::refused, changed(good, 8, 4)), Catch::Contains("3 and 5 of 3 numbers"));
  CHECK_THAT(refusal(Code::refused, changed(good, 68, 1 << 30)), Catch::Contains("words"));
  const size_t pieces = good.find("__label__fr") + 12 + 9;  // its end, count and kind
  CHECK_THAT(refusal(Code::refused, changed(good, pieces + 4, 25)),
             Catch::Contains("row 25 of 25"));
  CHECK_THAT(refusal(Code::refused, good + "x"), Catch::Contains("1 bytes are left"));
}

TEST_CASE("fastText: damaged files are refused or read") {
  for (const char* name : {"tiny.ftz", "tiny.ftbin"}) {
    check_damage(model(name), [](const std::string& bytes) {
      FastText(MappedFile::of(bytes)).predict("the bank ist 日本 straße");
    });
  }
}
