#include "hub/archive.h"

#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <map>

#include "tests/error_of.h"
#include "tests/hub/make_archive.h"
#include "tests/scratch.h"

using namespace hub;
using Catch::Matchers::Contains;

namespace {

const std::string data = HUB_SOURCE_DIR "/tests/data/registry/";

std::map<std::string, std::string> contents(const std::string& archive,
                                            const ArchiveLimits& limits = {}) {
  std::map<std::string, std::string> out;
  read_archive(archive, limits, [&](const RelPath& path, uint64_t size, MemberReader& reader) {
    std::string& bytes = out[path.str()];
    std::byte buffer[7];
    while (const size_t n = reader.read(buffer)) bytes.append(reinterpret_cast<char*>(buffer), n);
    CHECK(bytes.size() == size);
  });
  return out;
}

/// Both ways in refuse; nothing is written; returns the message.
std::string refused(const std::string& archive, const ArchiveLimits& limits = {}) {
  const Scratch box;
  error_of(Code::refused, [&] { extract_archive(archive, box / "out", limits); });
  CHECK(box.count() == 0);
  bool visited = false;
  const auto message = error_of(Code::refused, [&] {
    read_archive(archive, limits, [&](const RelPath&, uint64_t, MemberReader& reader) {
      visited = true;
      std::byte buffer[4096];
      while (reader.read(buffer) > 0) {
      }
    });
  });
  if (visited) CHECK_THAT(message, Contains("damaged"));
  return message;
}

std::string patched(std::string bytes, std::string_view from, std::string_view to) {
  size_t count = 0;
  for (size_t at = bytes.find(from); at != bytes.npos;
       at = bytes.find(from, at + to.size()), ++count) {
    bytes.replace(at, from.size(), to);
  }
  REQUIRE(count > 0);
  return bytes;
}

}  // namespace

TEST_CASE("members come back from every kind of package") {
  const Scratch box;
  const std::string big(300'000, 'x');
  for (TestArchive kind :
       {TestArchive::zip, TestArchive::tar_gz, TestArchive::tar_xz, TestArchive::tar_zst}) {
    const std::string file = box / "package";
    make_archive(file, kind,
                 {{"m", "", AE_IFDIR},
                  {"m/a.txt", "hello"},
                  {"m/模型.bin", big},
                  {"m/empty", ""},
                  {std::string(120, 'd') + "/" + std::string(200, 'n'), "long"}});
    const auto got = contents(file);
    CHECK(got.size() == 4);
    CHECK(got.at("m/a.txt") == "hello");
    CHECK(got.at("m/模型.bin") == big);
    CHECK(got.at("m/empty").empty());

    // What is not read is skipped.
    size_t seen = 0;
    read_archive(file, {}, [&](const RelPath&, uint64_t, MemberReader&) { ++seen; });
    CHECK(seen == 4);
  }
  CHECK(contents(data + "good.tar.gz").size() == 3);
  CHECK(contents(data + "good.tar.gz").count("m/模型.txt") == 1);
  // A zip that says its names are UTF-8, as Python writes them.
  CHECK(contents(data + "utf8.zip").at("m/模型.txt") == "x");
}

TEST_CASE("an archive is unpacked whole, with plain modes") {
  const Scratch box;
  make_archive(box / "a.zip", TestArchive::zip, {{"m/run.sh", "#!"}, {"m/sub/b", "b"}});
  extract_archive(box / "a.zip", box / "new/out/", {});
  CHECK(read_file(box / "new/out/m/sub/b") == "b");
  struct stat st {};
  REQUIRE(::stat((box / "new/out/m/run.sh").c_str(), &st) == 0);
  CHECK((st.st_mode & 07777) == 0644);
  CHECK(box.count() == 7);
  CHECK_THAT(error_of(Code::usage, [&] { extract_archive(box / "a.zip", box / "new/out", {}); }),
             Contains("there already"));
  error_of(Code::not_found, [&] { extract_archive(box / "none.zip", box / "x", {}); });
}

// R06, R07: the archives of the fault reports.
TEST_CASE("archives that climb out are refused whole") {
  CHECK_THAT(refused(data + "dotdot.tar.gz"), Contains("'../"));
  CHECK_THAT(refused(data + "dotdot.zip"), Contains("'../") || Contains("/../"));
  CHECK_THAT(refused(data + "absolute.zip"),
             Contains("/tmp/hub_escape.txt") && Contains("absolute"));
  CHECK_THAT(refused(data + "symlink_then_write.tar.gz"), Contains("'m/out' is a link"));
  CHECK_THAT(refused(data + "truncated.tar.gz"), Contains("damaged"));
  CHECK_FALSE(exists("/tmp/hub_escape.txt"));
}

TEST_CASE("members that are not plain files are refused by name") {
  const Scratch box;
  struct {
    std::vector<TestMember> members;
    const char* word;
  } rows[] = {{{{"good", "x"}, {"evil", "", AE_IFLNK, "/etc"}}, "'evil' is a link"},
              {{{"good", "x"}, {"evil", "", AE_IFREG, "", "good"}}, "'evil' is a link"},
              {{{"good", "x"}, {"evil", "", AE_IFREG, "", "/etc/passwd"}}, "'evil' is a link"},
              {{{"good", "x"}, {"pipe", "", AE_IFIFO}}, "'pipe' is a device or special file"},
              {{{"good", "x"}, {"null", "", AE_IFCHR}}, "'null' is a device or special file"},
              {{{"good", "x"}, {"a/../../x", "x"}}, "a/../../x"},
              {{{"good", "x"}, {"/etc/x", "x"}}, "/etc/x"},
              {{{"good", "x"}, {"..", "", AE_IFDIR}}, "'..'"},
              {{{"good", "x"}, {"C:\\x", "x"}}, "backslash"},
              {{{"good", "x"}, {"a\x1b[2J", "x"}}, "control character"},
              {{{"good", "x"}, {"a\nb", "x"}}, "control character"},
              {{{"good", "x"}, {"\xff\xfe", "x"}}, "UTF-8"},
              {{{"good", "x"}, {std::string(300, 'n'), "x"}}, "longer than 255"},
              {{{"good", "x"}, {"good", "y"}}, "'good' is listed twice"},
              {{{"good", "x"}, {"GOOD", "y"}}, "case or Unicode form"},
              {{{"good", "x"}, {"good/x", "y"}}, "both a file and a folder"},
              {{{"d", "", AE_IFDIR}}, "no files"}};
  for (const auto& row : rows) {
    make_archive(box / "evil.tar.gz", TestArchive::tar_gz, row.members);
    CAPTURE(row.word);
    CHECK_THAT(refused(box / "evil.tar.gz"), Contains(row.word));
  }
}

// R09: what would grow too much is refused by what it declares, and held to what it declared.
TEST_CASE("limits") {
  const Scratch box;
  const std::string zeros(3'000'000, '\0');
  for (TestArchive kind : {TestArchive::zip, TestArchive::tar_gz}) {
    make_archive(box / "bomb", kind, {{"a", zeros}, {"b/b", zeros}});
    CHECK(read_file(box / "bomb").size() < 20'000);
    CHECK(contents(box / "bomb").size() == 2);
    CHECK_THAT(refused(box / "bomb", {.member_bytes = 2'999'999}),
               Contains("'a' declares 3000000 bytes"));
    CHECK_THAT(refused(box / "bomb", {.total_bytes = 5'999'999}),
               Contains("'b/b' brings the archive to 6000000"));
    CHECK_THAT(refused(box / "bomb", {.members = 1}), Contains("more than 1 members"));
    CHECK_THAT(refused(box / "bomb", {.depth = 1}), Contains("'b/b' is deeper than 1"));
    CHECK(contents(box / "bomb",
                   {.members = 2, .depth = 2, .member_bytes = 3'000'000, .total_bytes = 6'000'000})
              .size() == 2);
  }
}

TEST_CASE("a size that lies is found out") {
  const Scratch box;
  make_archive(box / "a.zip", TestArchive::zip, {{"a", std::string(5000, 'x')}});
  const std::string bytes = read_file(box / "a.zip");
  // 5000 is 0x1388; the local record has it after the data, the central directory in front of the
  // name.
  for (std::string_view lie :
       {std::string_view("\x87\x13\0\0", 4), std::string_view("\x89\x13\0\0", 4)}) {
    box.put("lie.zip", patched(bytes, std::string_view("\x88\x13\0\0", 4), lie));
    refused(box / "lie.zip");
  }
}

TEST_CASE("other formats are refused whatever their name") {
  const Scratch box;
  const std::vector<TestMember> members = {{"a", "x"}};
  make_archive(box / "a.zip", TestArchive::seven_zip, members);
  CHECK_THAT(refused(box / "a.zip"), Contains("not a zip, tar.gz, tar.xz or tar.zst"));
  make_archive(box / "a.tar.gz", TestArchive::cpio, members);
  CHECK_THAT(refused(box / "a.tar.gz"), Contains("damaged"));
  make_archive(box / "a.tar", TestArchive::tar, members);
  CHECK_THAT(refused(box / "a.tar"), Contains("not a zip"));
  make_archive(box / "b.tar.gz", TestArchive::tar_gz, {{"a", read_file(box / "a.tar.gz")}});
  CHECK(contents(box / "b.tar.gz").size() == 1);  // not opened twice
  for (const std::string& bytes :
       {std::string(), std::string("PK"), std::string("PK\3\4"), std::string("\x1f\x8b"),
        std::string("hello"), std::string(100'000, 'P')}) {
    box.put("x.whl", bytes);
    refused(box / "x.whl");
  }
}

TEST_CASE("any cut and any changed byte end in the right bytes or a refusal") {
  const Scratch box;
  const std::map<std::string, std::string> right = {{"m/a", std::string(2000, 'a') + "b"},
                                                    {"m/c", "hello"}};
  for (TestArchive kind :
       {TestArchive::zip, TestArchive::tar_gz, TestArchive::tar_xz, TestArchive::tar_zst}) {
    make_archive(box / "whole", kind, {{"m/a", right.at("m/a")}, {"m/c", right.at("m/c")}});
    const std::string whole = read_file(box / "whole");
    size_t refusals = 0;
    for (size_t cut = 0; cut < whole.size(); ++cut) {
      box.put("cut", whole.substr(0, cut));
      try {
        const auto got = contents(box / "cut");
        CHECK(got == right);
      } catch (const Error& e) {
        CHECK(e.code() == Code::refused);
        ++refusals;
      }
      std::string changed = whole;
      changed[cut] = static_cast<char>(changed[cut] ^ 0x55);
      box.put("changed", changed);
      try {
        contents(box / "changed");
      } catch (const Error& e) {
        CHECK(e.code() == Code::refused);
      }
    }
    CHECK(refusals > whole.size() / 2);
  }
}
