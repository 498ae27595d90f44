#include "hub/name.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "base/file.h"
#include "hub/manifest.h"
#include "tests/error_of.h"

using namespace hub;
using Catch::Matchers::Contains;

TEST_CASE("names of modules") {
  for (const char* good : {"a", "lac", "minilm-l6", "a1-2b", "ppocr-v4-paddle"}) {
    CHECK(ModuleName::parse(good).str() == good);
  }
  CHECK(ModuleName::parse(std::string(64, 'a')).str().size() == 64);
  const std::string bad[] = {"",
                             "-a",
                             "a-",
                             "a--b",
                             "1a",
                             "a/b",
                             "./a",
                             "..",
                             "a\n",
                             "a@1",
                             "lac\x1b",
                             "l\xd0\xb0"
                             "c",
                             std::string("a\0", 2),
                             std::string(65, 'a'),
                             std::string(1 << 20, 'a')};
  for (const std::string& name : bad) {
    CAPTURE(name.substr(0, 80));
    CHECK(error_of(Code::refused, [&] { ModuleName::parse(name); }).size() < 300);
  }
}

// R16: one spelling everywhere, and the near miss is told.
TEST_CASE("another spelling of a name is refused with the right one") {
  for (const char* near : {"a_b", "A-B", "a b", "A.b"}) {
    CHECK_THAT(error_of(Code::refused, [&] { ModuleName::parse(near); }),
               Contains("did you mean 'a-b'?"));
  }
  CHECK_THAT(error_of(Code::usage, [] { Request::parse("chinese_ocr_db_crnn_mobile"); }),
             Contains("chinese-ocr-db-crnn-mobile"));
}

// The order that semver.org gives in its own text, and the order of versions.json (R12).
TEST_CASE("versions are ordered by semver") {
  const char* ascending[] = {"0.0.1",
                             "1.0.0-alpha",
                             "1.0.0-alpha.1",
                             "1.0.0-alpha.beta",
                             "1.0.0-beta",
                             "1.0.0-beta.2",
                             "1.0.0-beta.11",
                             "1.0.0-rc.1",
                             "1.0.0",
                             "1.2.0",
                             "1.9.3",
                             "1.10.0",
                             "2.0.0-9",
                             "2.0.0-10",
                             "2.0.0-99999999999999999999999",
                             "2.0.0-a",
                             "2.0.0",
                             "18446744073709551615.0.0"};
  for (size_t i = 0; i < std::size(ascending); ++i) {
    for (size_t j = 0; j < std::size(ascending); ++j) {
      CAPTURE(ascending[i], ascending[j]);
      const Version a = Version::parse(ascending[i]), b = Version::parse(ascending[j]);
      CHECK((a <=> b) == (i <=> j));
      CHECK((a == b) == (i == j));
    }
  }
}

TEST_CASE("the versions of a fault report sort, and the newest stable one is known") {
  const json file = parse_json(read_file(HUB_SOURCE_DIR "/tests/data/registry/versions.json"));
  std::vector<Version> versions;
  for (const json& text : file["available"])
    versions.push_back(Version::parse(text.get<std::string>()));
  std::sort(versions.begin(), versions.end());
  std::vector<std::string> order;
  std::string stable;
  for (const Version& v : versions) {
    order.push_back(v.str());
    if (!v.prerelease()) stable = v.str();
  }
  CHECK(order == file["order"].get<std::vector<std::string>>());
  CHECK(stable == file["latest_stable"].get<std::string>());
}

TEST_CASE("what is not a version is refused") {
  for (const char* bad : {"", "1", "1.2", "1.2.3.4", "01.2.3", "1.2.x", "1.2.3-", "1.2.3-a..b",
                          "1.2.3-01", "1.2.3+b1", "v1.2.3", "1.2.3 ", "1.-2.3", "+1.2.3",
                          "18446744073709551616.0.0", "1.2.3-\xe2\x80\xae"}) {
    CAPTURE(bad);
    error_of(Code::refused, [&] { Version::parse(bad); });
  }
  error_of(Code::refused, [] { Version::parse("1.2.3-" + std::string(100, 'a')); });
}

TEST_CASE("requests") {
  CHECK_FALSE(Request::parse("lac").version);
  CHECK_FALSE(Request::parse("lac@latest").version);
  CHECK(Request::parse("lac@2.1.2").str() == "lac@2.1.2");
  CHECK(Request::parse("lac==2.1.2").str() == "lac@2.1.2");
  for (const char* bad : {"", "@1.0.0", "lac@", "lac@@1.0.0", "lac==", "lac=1.0.0", "lac@1",
                          "./lac", "lac@latest "}) {
    CAPTURE(bad);
    error_of(Code::usage, [&] { Request::parse(bad); });
  }
}

TEST_CASE("ranges of versions") {
  struct {
    const char* range;
    const char* inside;
    const char* outside;
  } rows[] = {{">=0.1", "0.1.0", "0.0.9"},
              {">=0.1", "7.0.0", "0.1.0-rc.1"},
              {"<2", "1.99.0", "2.0.0"},
              {">1.0.0", "1.0.1", "1.0.0"},
              {"<=1.2", "1.2.0", "1.2.1"},
              {"==1.2.3", "1.2.3", "1.2.4"},
              {">=1.2.0 <2.0.0", "1.5.0", "2.0.0"},
              {">=1.2.0  <2.0.0", "1.2.0", "1.1.9"},
              {">=1.0.0-rc.1", "1.0.0-rc.2", "1.0.0-beta"}};
  for (const auto& row : rows) {
    CAPTURE(row.range);
    CHECK(VersionRange::parse(row.range).contains(Version::parse(row.inside)));
    CHECK_FALSE(VersionRange::parse(row.range).contains(Version::parse(row.outside)));
  }
  for (const char* bad :
       {"", " ", "1.0", "=1", "~1.0", ">=", ">=a", ">=1.2.3.4", "=>1", ">=1,<2"}) {
    CAPTURE(bad);
    error_of(Code::refused, [&] { VersionRange::parse(bad); });
  }
}
