#include "hub/recipe.h"

#include <catch2/catch.hpp>

#include "hub/hub.h"
#include "hub/index.h"
#include "tests/error_of.h"
#include "tests/hub/make_archive.h"
#include "tests/scratch.h"

using namespace hub;
using Catch::Matchers::Contains;

namespace {

const std::string weights(200'000, 'w');

/// A recipe folder with one module, and its packages: a wheel and an sdist.
struct Kitchen {
  Scratch box;
  std::string recipes = box / "recipes", packages = box / "packages", output = box / "out";
  json recipe, manifest;

  Kitchen() {
    box.put("packages/.keep", "");
    make_archive(packages + "/demo.whl", TestArchive::zip,
                 {{"demo/w.bin", weights}, {"demo/__init__.py", "code"}});
    make_archive(packages + "/words.tar.gz", TestArchive::tar_gz,
                 {{"words-2.0/vocab.txt", "a\nb\n"}});
    box.put("recipes/demo/labels.txt", "cat\ndog\n");
    recipe = {{"schema", 1},
              {"packages",
               {package("demo", "1.0.0", "demo.whl"), package("words", "2.0", "words.tar.gz")}},
              {"files",
               {{{"path", "model.bin"}, {"package", "demo"}, {"member", "demo/w.bin"}},
                {{"path", "vocab.txt"}, {"package", "words"}, {"member", "words-2.0/vocab.txt"}},
                {{"path", "labels.txt"}, {"beside", "labels.txt"}}}}};
    manifest = {{"name", "demo"},
                {"version", "1.0.0"},
                {"task", "ocr"},
                {"files",
                 {file("model.bin", weights), file("vocab.txt", "a\nb\n"),
                  file("labels.txt", "cat\ndog\n")}}};
  }

  json package(const char* name, const char* version, const char* file) const {
    const std::string bytes = read_file(packages + "/" + file);
    return {{"name", name},
            {"version", version},
            {"file", file},
            {"sha256", Sha256::of(bytes).hex()},
            {"size", bytes.size()}};
  }
  static json file(const char* path, std::string_view bytes) {
    return {{"path", path}, {"sha256", Sha256::of(bytes).hex()}, {"size", bytes.size()}};
  }
  RegistryReport build() const {
    box.put("recipes/demo/recipe.json", recipe.dump());
    box.put("recipes/demo/manifest.json", manifest.dump());
    Silent silent;
    return build_registry(recipes, packages, output, silent);
  }
  /// The build fails so, and publishes nothing.
  std::string fails(Code code) const {
    const auto message = error_of(code, [&] { build(); });
    CHECK_FALSE(exists(output + "/index"));
    return message;
  }
  std::vector<IndexEntry> index() const {
    return parse_index(read_file(output + "/" + std::string(index_path)));
  }
};

auto stamp(const std::string& path) { return std::filesystem::last_write_time(path); }

}  // namespace

TEST_CASE("a registry is built from packages and from what lies beside") {
  Kitchen k;
  const RegistryReport report = k.build();
  CHECK(report.modules == std::vector<std::string>{"demo@1.0.0"});
  CHECK(report.files == 3);
  CHECK(report.bytes == weights.size() + 12);
  const auto index = k.index();
  REQUIRE(index.size() == 1);
  CHECK(index[0].task == "ocr");
  CHECK(index[0].total_size == report.bytes);
  const std::string text = read_file(k.output + "/" + blob_path(index[0].manifest));
  CHECK(text == k.manifest.dump());
  CHECK(text.size() == index[0].manifest_size);
  for (const FileEntry& entry : Manifest::parse(text).files) {
    CHECK(Sha256::of(read_file(k.output + "/" + blob_path(entry.sha256))) == entry.sha256);
  }
  size_t files = 0;
  for (const auto& at : std::filesystem::recursive_directory_iterator(k.output))
    files += at.is_regular_file() ? 1 : 0;
  CHECK(files == 5);
}

TEST_CASE("building again changes nothing and needs no package") {
  Kitchen k;
  k.build();
  const std::string blob = k.output + "/" + blob_path(Sha256::of(weights));
  const std::string index = k.output + "/" + std::string(index_path);
  const auto before = std::pair(stamp(blob), stamp(index));
  const std::string text = read_file(index);
  std::filesystem::remove_all(k.packages);
  k.build();
  CHECK(std::pair(stamp(blob), stamp(index)) == before);
  CHECK(read_file(index) == text);
}

TEST_CASE("a damaged or missing package is refused before it is opened") {
  Kitchen k;
  SECTION("missing") {
    std::filesystem::remove(k.packages + "/demo.whl");
    CHECK_THAT(k.fails(Code::not_found),
               Contains("demo.whl") && Contains("pip download --no-deps demo==1.0.0"));
  }
  SECTION("other bytes") {
    std::string bytes = read_file(k.packages + "/words.tar.gz");
    bytes.back() = static_cast<char>(bytes.back() ^ 1);
    k.box.put("packages/words.tar.gz", bytes);
    CHECK_THAT(k.fails(Code::integrity),
               Contains("words.tar.gz has SHA-256") && Contains("words==2.0"));
  }
  SECTION("other size") {
    k.box.put("packages/demo.whl", "PK");
    CHECK_THAT(k.fails(Code::integrity), Contains("demo.whl has 2 bytes"));
  }
}

TEST_CASE("files that are not what the manifest promises are refused") {
  Kitchen k;
  json& files = k.manifest["files"];
  SECTION("member with other bytes") {
    files[0]["sha256"] = std::string(64, '0');
    CHECK_THAT(k.fails(Code::integrity),
               Contains("demo.whl: demo/w.bin") && Contains("demo@1.0.0"));
  }
  SECTION("member too long") {
    files[0]["size"] = weights.size() - 1;
    CHECK_THAT(k.fails(Code::integrity), Contains("holds more than the 199999 bytes"));
  }
  SECTION("member too short") {
    files[0]["size"] = weights.size() + 1;
    CHECK_THAT(k.fails(Code::integrity), Contains("holds fewer than the 200001 bytes"));
  }
  SECTION("no such member") {
    k.recipe["files"][0]["member"] = "demo/none.bin";
    CHECK_THAT(k.fails(Code::integrity), Contains("no member 'demo/none.bin'"));
  }
  SECTION("one member, two digests") {
    k.recipe["files"].push_back({{"path", "twin"}, {"package", "demo"}, {"member", "demo/w.bin"}});
    files.push_back(Kitchen::file("twin", "x"));
    CHECK_THAT(k.fails(Code::refused), Contains("two digests"));
  }
  SECTION("beside, changed") {
    k.box.put("recipes/demo/labels.txt", "cat\ncow\n");
    CHECK_THAT(k.fails(Code::integrity), Contains("labels.txt"));
  }
  SECTION("beside, a link") {
    std::filesystem::remove(k.recipes + "/demo/labels.txt");
    std::filesystem::create_symlink("/etc/hostname", k.recipes + "/demo/labels.txt");
    CHECK_THAT(k.fails(Code::refused), Contains("is a link"));
  }
  make_folders(k.output);
  for (const auto& at : std::filesystem::recursive_directory_iterator(k.output)) {
    if (at.is_regular_file()) CHECK(Sha256::of(read_file(at.path())).hex() == at.path().filename());
  }
}

TEST_CASE("recipe and manifest must agree") {
  Kitchen k;
  SECTION("file only in the recipe") {
    k.manifest["files"].erase(2);
    CHECK_THAT(k.fails(Code::refused),
               Contains("'labels.txt' is in the recipe and not in the manifest"));
  }
  SECTION("file only in the manifest") {
    k.recipe["files"].erase(2);
    CHECK_THAT(k.fails(Code::refused),
               Contains("'labels.txt' is in the manifest and not in the recipe"));
  }
  SECTION("another name than the folder") {
    k.manifest["name"] = "other";
    CHECK_THAT(k.fails(Code::refused), Contains("'other'"));
  }
  SECTION("no recipes") {
    std::filesystem::remove_all(k.recipes + "/demo");
    Silent silent;
    error_of(Code::not_found, [&] { build_registry(k.recipes, k.packages, k.output, silent); });
    error_of(Code::not_found,
             [&] { build_registry(k.recipes + "/none", k.packages, k.output, silent); });
  }
}

// R17: what is published stays as it is, and a new version stands beside the old one.
TEST_CASE("a version is published once") {
  Kitchen k;
  k.build();
  const Digest first = k.index()[0].manifest;
  k.manifest["summary"] = "changed";
  CHECK_THAT(error_of(Code::refused, [&] { k.build(); }),
             Contains("demo@1.0.0") && Contains("raise the version"));
  CHECK(k.index().size() == 1);
  k.manifest["version"] = "2.0.0";
  k.build();
  const auto index = k.index();
  REQUIRE(index.size() == 2);
  CHECK(index[0].manifest == first);
  CHECK(index[1].version.str() == "2.0.0");
  CHECK(Manifest::parse(read_file(k.output + "/" + blob_path(index[1].manifest))).id() ==
        "demo@2.0.0");
}

TEST_CASE("a recipe with one thing wrong is refused") {
  const Kitchen k;
  struct {
    const char* pointer;
    json value;
    const char* word;
  } rows[] = {{"/run", "rm", "unknown key 'run'"},
              {"/schema", nullptr, "schema"},
              {"/packages/0/name", "demo; rm -rf ~", "holds more than letters"},
              {"/packages/0/name", "--index-url", "holds more than letters"},
              {"/packages/0/version", "1.0 $(x)", "holds more than letters"},
              {"/packages/0/file", "../demo.whl", "packages[0]"},
              {"/packages/0/sha256", "abc", "64 hexadecimal digits"},
              {"/packages/0/size", -1, "'size' is -1"},
              {"/packages/0/url", "http://x", "unknown key 'url'"},
              {"/packages/1/name", "demo", "'demo' is listed twice"},
              {"/packages/2", k.package("third", "1", "demo.whl"), "'third' is used by no file"},
              {"/files/0/path", "../x", "files[0]"},
              {"/files/0/path", "labels.txt", "listed twice"},
              {"/files/0/package", "none", "'none' is not among the packages"},
              {"/files/0/member", "/w.bin", "files[0]"},
              {"/files/0/beside", "x", "unknown key"},
              {"/files/2/beside", "../../secret", "files[2]"}};
  for (const auto& row : rows) {
    json recipe = k.recipe;
    recipe[json::json_pointer(row.pointer)] = row.value;
    CAPTURE(row.pointer);
    CHECK_THAT(error_of(Code::refused, [&] { Recipe::parse(recipe.dump()); }), Contains(row.word));
  }
}

TEST_CASE("the recipes of this tree are well formed") {
  size_t seen = 0;
  for (const auto& entry : std::filesystem::directory_iterator(HUB_SOURCE_DIR "/registry")) {
    const std::string path = entry.path() / "recipe.json";
    if (!exists(path)) continue;
    CAPTURE(path);
    const Recipe recipe = Recipe::parse(read_file(path));
    const Manifest manifest = Manifest::parse(read_file(entry.path() / "manifest.json"));
    CHECK(recipe.files.size() == manifest.files.size());
    for (const auto& [file, from] : recipe.files) {
      const FileEntry* promised = manifest.file(file);
      REQUIRE(promised != nullptr);
      if (!from.package.empty()) continue;
      CHECK(Sha256::of(read_file(entry.path() / from.source.str())) == promised->sha256);
    }
    ++seen;
  }
  CHECK(seen >= 6);
}
