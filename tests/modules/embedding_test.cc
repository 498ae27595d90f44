// Sentence embeddings of minilm-l6 as transformers computes them.
#include <catch2/catch.hpp>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "modules/wordpiece.h"
#include "tests/modules/default_module.h"
#include "tests/modules/text_sample.h"
#include "tests/notes.h"

using namespace hub;
using Vector = std::vector<double>;

namespace {

Notes notes;

Module& minilm() {
  static const auto module = default_module("minilm-l6", notes);
  return *module;
}

json goldens() { return json::parse(read_file(HUB_SOURCE_DIR "/tests/data/text/minilm.json")); }

std::vector<Vector> embed(const std::vector<std::string>& texts) {
  std::vector<Sample> samples;
  for (const auto& text : texts) samples.push_back(text_sample(text));
  std::vector<Vector> out;
  for (const json& one : minilm().task().predict(samples, {})) out.push_back(one["embedding"]);
  return out;
}

double distance(const Vector& a, const Vector& b) {
  double most = a.size() == b.size() ? 0 : 1e9;
  for (size_t i = 0; i < a.size() && i < b.size(); ++i)
    most = std::max(most, std::abs(a[i] - b[i]));
  return most;
}

std::string words(int count) {
  std::string text = "a very long story";
  for (int i = 4; i < count; ++i) text += i % 7 == 0 ? " guitar" : " and";
  return text;
}

}  // namespace

TEST_CASE("embeddings and similarities are those of the reference") {
  const json golden = goldens();
  const WordPiece tokenizer(minilm().files().open(RelPath::parse("vocab.txt")));
  for (const json& pair : golden["pairs"]) {
    const std::string a = pair["a"], b = pair["b"];
    INFO(a << " / " << b);
    CHECK(tokenizer.encode(a, 256).ids == pair["ids_a"].get<std::vector<int64_t>>());
    CHECK(tokenizer.encode(b, 256).ids == pair["ids_b"].get<std::vector<int64_t>>());
    const auto got =
        minilm().task().predict(std::vector{text_sample(a), text_sample(b)}, {.pair = true});
    REQUIRE(got.size() == 1);
    CHECK(got[0]["similarity"].get<double>() == Approx(pair["cos"].get<double>()).margin(1e-4));
  }
  const Vector got = embed({golden["pairs"][0]["a"]})[0];
  CHECK(distance(got, golden["embedding"]) < 1e-4);
}

TEST_CASE("a vector does not depend on its neighbours or on padding") {
  const std::vector<std::string> texts = {
      "one", words(40), "", "The cat sits on the mat", words(9), words(200), "字", "A", words(12)};
  const auto together = embed(texts);
  for (size_t i = 0; i < texts.size(); ++i) {
    INFO(texts[i].substr(0, 30));
    CHECK(distance(together[i], embed({texts[i]})[0]) < 1e-6);
    double square = 0;
    for (double x : together[i]) square += x * x;
    CHECK(square == Approx(1).margin(1e-5));
  }
}

TEST_CASE("text beyond the limit is dropped with a note") {
  notes.text.clear();
  const auto got = embed({words(400), words(254)});
  CHECK(distance(got[0], got[1]) < 1e-6);
  CHECK_THAT(notes.text, Catch::Contains("146 tokens dropped") && Catch::Contains("256"));
}

TEST_CASE("requests that make no sense") {
  const std::vector<Sample> one = {text_sample("a")};
  CHECK_THROWS_WITH(minilm().task().predict(one, {.pair = true}), Catch::Contains("two texts"));
  Sample bad = text_sample("\xff");
  bad.name = "bad.txt";
  CHECK_THROWS_WITH(minilm().task().predict(std::vector{bad}, {}), Catch::Contains("bad.txt"));
  CHECK(minilm().task().predict({}, {}).empty());
}
