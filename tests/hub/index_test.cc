#include "hub/index.h"

#include <catch2/catch.hpp>

#include "hub/manifest.h"
#include "tests/error_of.h"

using namespace hub;
using Catch::Matchers::Contains;

namespace {

IndexEntry entry(const char* name, const char* version) {
  return {.name = ModuleName::parse(name),
          .version = Version::parse(version),
          .manifest = Sha256::of(std::string(name) + version),
          .manifest_size = 100,
          .total_size = uint64_t{1} << 33,
          .task = "ocr",
          .summary = "模型",
          .license = "MIT"};
}

}  // namespace

TEST_CASE("an index comes back as it was written, in order") {
  const auto text = write_index(
      {entry("b", "1.10.0"), entry("a", "1.0.0"), entry("b", "1.9.0"), entry("b", "2.0.0-rc.1")});
  CHECK(text == write_index({entry("b", "2.0.0-rc.1"), entry("b", "1.9.0"), entry("a", "1.0.0"),
                             entry("b", "1.10.0")}));
  const auto entries = parse_index(text);
  std::string order;
  for (const auto& e : entries) order += e.name.str() + "@" + e.version.str() + " ";
  CHECK(order == "a@1.0.0 b@1.9.0 b@1.10.0 b@2.0.0-rc.1 ");
  const IndexEntry wanted = entry("b", "1.10.0");
  CHECK(entries[2].manifest == wanted.manifest);
  CHECK(entries[2].manifest_size == 100);
  CHECK(entries[2].total_size == wanted.total_size);
  CHECK(entries[2].task + entries[2].summary + entries[2].license == "ocr模型MIT");
  CHECK(parse_index(write_index({})).empty());
}

TEST_CASE("an index with one thing wrong is refused") {
  struct {
    const char* pointer;
    json value;
    const char* word;
  } rows[] = {{"/files", json::array(), "unknown key 'files'"},
              {"/schema", "1", "'schema'"},
              {"/modules", json::object(), "'modules' is object"},
              {"/modules/0/name", "../a", "'../a'"},
              {"/modules/0/other", 1, "unknown key 'other'"},
              {"/modules/1/name", "a", "a@1.0.0 is listed twice"},
              {"/modules/0/versions", 1, "'versions' is 1"},
              {"/modules/0/versions/0/version", "1", "'1' is not a version"},
              {"/modules/0/versions/0/manifest", "../../x", "64 hexadecimal digits"},
              {"/modules/0/versions/0/manifest_size", (1 << 20) + 1, "manifest_size"},
              {"/modules/0/versions/0/total_size", -1, "total_size"},
              {"/modules/0/versions/0/url", "http://x", "unknown key 'url'"},
              {"/modules/0/versions/0/summary", "\x1b[2J", "control characters"}};
  for (const auto& row : rows) {
    json index = parse_json(write_index({entry("a", "1.0.0"), entry("b", "1.0.0")}));
    index[json::json_pointer(row.pointer)] = row.value;
    CAPTURE(row.pointer);
    CHECK_THAT(error_of(Code::refused, [&] { parse_index(index.dump()); }), Contains(row.word));
  }
  for (const char* key : {"schema", "modules"}) {
    json index = parse_json(write_index({}));
    index.erase(key);
    error_of(Code::refused, [&] { parse_index(index.dump()); });
  }
  CHECK_THAT(error_of(Code::unsupported, [] { parse_index(R"({"schema": 2, "modules": []})"); }),
             Contains("newer hub"));
  error_of(Code::refused, [] { write_index({entry("a", "1.0.0"), entry("a", "1.0.0")}); });
  // A manifest is not an index.
  error_of(Code::refused,
           [] { parse_index(read_file(HUB_SOURCE_DIR "/registry/lac/manifest.json")); });
}

TEST_CASE("blobs lie by their digest") {
  const Digest d = Sha256::of("abc");
  CHECK(blob_path(d) == "blobs/sha256/ba/" + d.hex());
}
