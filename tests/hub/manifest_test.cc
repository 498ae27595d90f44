#include "hub/manifest.h"

#include <catch2/catch.hpp>
#include <filesystem>

#include "tests/error_of.h"

using namespace hub;
using Catch::Matchers::Contains;

namespace {

const std::string data = HUB_SOURCE_DIR "/tests/data/registry/";
const std::string digest(64, 'a');

/// A manifest with every key.
json full() {
  const auto file = [](const char* path) {
    return json{{"path", path}, {"sha256", digest}, {"size", 10}};
  };
  return {
      {"schema", 1},
      {"name", "demo"},
      {"version", "1.0.0"},
      {"task", "sentence-embedding"},
      {"summary", "模型"},
      {"license", "MIT"},
      {"origin", {{"package", "demo"}}},
      {"files",
       {file("w.bin"), file("config.json"), file("p/__model__"), file("p/params"), file("x.png")}},
      {"networks",
       {{"main",
         {{"format", "safetensors"},
          {"file", "w.bin"},
          {"architecture", "bert"},
          {"config", "config.json"},
          {"options", {{"heads", 12}}}}},
        {"second", {{"format", "paddle"}, {"file", "p/__model__"}, {"parameters", "p/params"}}}}},
      {"preprocess", {{"vocab", "v"}}},
      {"postprocess", {{"pooling", "mean"}}},
      {"finetune", {{"features", "pooled"}}},
      {"examples",
       {{{"input", {{"text", "a\nb"}}}, {"output", {1.5}}, {"tolerance", 0.25}},
        {{"input", {{"file", "x.png"}}}, {"output", json::object()}}}},
      {"requires", {{"hub", ">=0.1"}, {"other", ">=1.2 <2"}}}};
}

}  // namespace

TEST_CASE("a manifest is read whole") {
  const std::string text = full().dump();
  const Manifest m = Manifest::parse(text);
  CHECK(m.id() == "demo@1.0.0");
  CHECK(m.text == text);
  CHECK(m.summary == "模型");
  CHECK(m.files.size() == 5);
  CHECK(m.total_size() == 50);
  CHECK(m.file(RelPath::parse("p/params"))->sha256.hex() == digest);
  CHECK(m.file(RelPath::parse("p")) == nullptr);
  const NetworkSpec& main = m.networks.at("main");
  CHECK(main.architecture == "bert");
  CHECK(main.config->str() == "config.json");
  CHECK(main.options["heads"] == 12);
  CHECK_FALSE(main.parameters);
  CHECK(m.networks.at("second").parameters->str() == "p/params");
  CHECK(m.examples.at(0).tolerance == 0.25);
  CHECK(m.examples.at(1).tolerance == 1e-4);
  CHECK(m.finetune["features"] == "pooled");
  CHECK(m.requirements.at("other").contains(Version::parse("1.9.0")));
}

// R01, R02, R04 and R16 as far as a manifest goes: the documents of the fault reports.
TEST_CASE("manifests of fault reports") {
  const auto parse = [](const char* name) { return Manifest::parse(read_file(data + name)); };
  const auto weights = RelPath::parse("weights.bin");
  const std::string payload = read_file(data + "payload.bin");
  CHECK(parse("manifest_ok.json").file(weights)->sha256 == Sha256::of(payload));
  CHECK(parse("manifest_sha_upper.json").file(weights)->sha256 == Sha256::of(payload));
  CHECK(parse("manifest_wrong_sha.json").file(weights)->sha256 != Sha256::of(payload));
  CHECK(parse("manifest_wrong_size.json").file(weights)->size == payload.size() + 1);
  const std::string flipped = read_file(data + "payload_bitflip.bin");
  CHECK(flipped.size() == payload.size());
  CHECK(parse("manifest_ok.json").file(weights)->sha256 != Sha256::of(flipped));
  CHECK_THAT(error_of(Code::refused, [&] { parse("manifest_digest_traversal.json"); }),
             Contains("files[0]") && Contains("../../../../tmp/hub_pwned") &&
                 Contains("64 hexadecimal digits"));
}

TEST_CASE("a manifest with one thing wrong is refused by name") {
  struct {
    const char* pointer;
    json value;
    const char* word;
  } rows[] = {{"/surprise", 1, "unknown key 'surprise'"},
              {"/name", "../demo", "'../demo'"},
              {"/name", nullptr, "'name' is null"},
              {"/name", "a_b", "did you mean 'a-b'"},
              {"/version", "1.0", "'1.0' is not a version"},
              {"/task", "../x", "task"},
              {"/summary", "\x1b[2J", "control characters"},
              {"/license", 3, "'license' is 3"},
              {"/origin", "x", "'origin' is \"x\""},
              {"/files", json::object(), "'files' is object"},
              {"/files", json::array(), "lists no files"},
              {"/files/0/path", "../w.bin", "files[0]"},
              {"/files/0/path", "/etc/passwd", "it is absolute"},
              {"/files/0/path", "config.json", "listed twice"},
              {"/files/0/path", "CONFIG.json", "case or Unicode form"},
              {"/files/0/path", "p", "both a file and a folder"},
              {"/files/4/path", "x.png/y", "among the files"},
              {"/files/3/path", "w.bin/y", "both a file and a folder"},
              {"/files/4/path", "p", "both a file and a folder"},
              {"/files/0/size", -1, "'size' is -1"},
              {"/files/0/size", 1.5, "'size' is 1.5"},
              {"/files/0/size", uint64_t{1} << 60, "'size' is 1152921504606846976"},
              {"/files/0/sha256", std::string(63, 'a'), "64 hexadecimal digits"},
              {"/files/0/sha256", std::string(65, 'a'), "64 hexadecimal digits"},
              {"/files/0/mode", 755, "unknown key 'mode'"},
              {"/networks/main/format", "pickle", "unknown format 'pickle'"},
              {"/networks/main/file", "none.bin", "not among the files"},
              {"/networks/main/config", "../config.json", "networks.main"},
              {"/networks/main/parameters", "p/params", "unknown key 'parameters'"},
              {"/networks/second/architecture", "bert", "unknown key 'architecture'"},
              {"/networks/second/parameters", "none", "not among the files"},
              {"/networks/a b", json::object(), "'a b'"},
              {"/examples/0/input", "x", "'input' is \"x\""},
              {"/examples/0/input", {{"path", "x"}}, "'text' is missing"},
              {"/examples/0/input/text", 1, "'text' is not text"},
              {"/examples/1/input/file", "/etc/passwd", "it is absolute"},
              {"/examples/1/input/file", "y.png", "not among the files"},
              {"/examples/1/tolerance", -1, "'tolerance' is -1"},
              {"/requires/hub", "0.1", "'0.1' is not a condition"},
              {"/requires/hub", 1, "'hub' is not text"},
              {"/requires/A_b", ">=1", "did you mean"}};
  for (const auto& row : rows) {
    json m = full();
    m[json::json_pointer(row.pointer)] = row.value;
    CAPTURE(row.pointer, row.value.dump());
    CHECK_THAT(error_of(Code::refused, [&] { Manifest::parse(m.dump()); }), Contains(row.word));
  }
}

TEST_CASE("what must be in a manifest") {
  for (const char* key : {"name", "version", "files"}) {
    json m = full();
    m.erase(key);
    error_of(Code::refused, [&] { Manifest::parse(m.dump()); });
  }
  for (const char* key : {"format", "file", "architecture"}) {
    json m = full();
    m["networks"]["main"].erase(key);
    CHECK_THAT(error_of(Code::refused, [&] { Manifest::parse(m.dump()); }),
               Contains(std::string("'") + key + "' is missing"));
  }
  error_of(Code::refused, [] { Manifest::parse("[]"); });
  error_of(Code::refused, [] { Manifest::parse(R"({"name": "a", "name": "b"})"); });
}

TEST_CASE("a newer schema asks for a newer hub") {
  json m = full();
  m["schema"] = 2;
  m["new-key"] = true;
  CHECK_THAT(error_of(Code::unsupported, [&] { Manifest::parse(m.dump()); }),
             Contains("newer hub"));
}

// U+00E9 against e and U+0301; ß folds to ss.
TEST_CASE("paths that some file systems take for one are refused") {
  for (const auto& [a, b] : {std::pair{"caf\xc3\xa9", "cafe\xcc\x81"},
                             {"STRASSE",
                              "stra\xc3\x9f"
                              "e"},
                             {"A/x", "a/X"}}) {
    json m = full();
    m["files"][0]["path"] = a;
    m["files"][4]["path"] = b;
    CHECK_THAT(error_of(Code::refused, [&] { Manifest::parse(m.dump()); }),
               Contains("case or Unicode form"));
  }
}

TEST_CASE("the manifests of this tree are well formed") {
  size_t seen = 0;
  for (const auto& entry : std::filesystem::directory_iterator(HUB_SOURCE_DIR "/registry")) {
    const std::string path = entry.path() / "manifest.json";
    if (!exists(path)) continue;
    CAPTURE(path);
    const Manifest m = Manifest::parse(read_file(path));
    CHECK(m.name.str() == entry.path().filename());
    CHECK_FALSE(m.task.empty());
    CHECK_FALSE(m.license.empty());
    CHECK_FALSE(m.networks.empty());
    CHECK_FALSE(m.examples.empty());
    ++seen;
  }
  CHECK(seen >= 6);
}
