#include "base/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "tests/error_of.h"
#include "tests/scratch.h"

using namespace hub;
namespace fs = std::filesystem;

TEST_CASE("relative paths that stay inside are taken as they are") {
  for (const char* path : {"a", "a/b.txt", "模型/词典.dic", "..a", "a..", "a/...", ".hidden", "a b",
                           "-x", "100%#?", "e\xcc\x81"}) {
    CHECK(RelPath::parse(path).str() == path);
  }
  CHECK(RelPath::parse("a/b/c").sibling("d").str() == "a/b/d");
  CHECK(RelPath::parse("c").sibling("d").str() == "d");
}

TEST_CASE("paths that leave, hide or confuse are refused") {
  const std::string bad[] = {"",
                             "/",
                             "/etc/x",
                             "..",
                             "../x",
                             "a/../../x",
                             "a/..",
                             "a/./b",
                             ".",
                             "a//b",
                             "a/",
                             "C:\\x",
                             "a\\b",
                             "a\nb",
                             "a\x1b[2J",
                             std::string("a\0b", 3),
                             "a\x7f",
                             "a\xff",
                             "a\xc0\xaf",
                             "\xed\xa0\x80",
                             std::string(256, 'n'),
                             std::string(600, 'a') + "/" + std::string(600, 'b')};
  for (const std::string& path : bad) {
    CAPTURE(path);
    error_of(Code::refused, [&] { RelPath::parse(path); });
  }
  error_of(Code::refused, [] { RelPath::parse("a/b").sibling("../../x"); });
}

TEST_CASE("a module's folder gives out regular files of its own and nothing else") {
  const Scratch box;
  box.put("module/sub/a.txt", "hello");
  box.put("module/empty", "");
  box.put("secret", "outside");
  const FolderFiles files(box / "module");
  CHECK(files.open(RelPath::parse("sub/a.txt")).text() == "hello");
  CHECK(files.open(RelPath::parse("empty")).size() == 0);
  CHECK(files.has(RelPath::parse("sub/a.txt")));
  CHECK_FALSE(files.has(RelPath::parse("sub/b.txt")));

  fs::create_symlink("../secret", box / "module/link");
  fs::create_symlink("sub", box / "module/inner");
  fs::create_symlink("/", box / "module/root");
  fs::create_hard_link(box / "secret", box / "module/hard");
  REQUIRE(::mkfifo((box / "module/pipe").c_str(), 0600) == 0);
  for (const char* path : {"link", "inner/a.txt", "root/etc/passwd", "hard", "pipe", "sub"}) {
    CAPTURE(path);
    error_of(Code::refused, [&] { files.open(RelPath::parse(path)); });
  }
  CHECK(error_of(Code::not_found, [&] {
          files.open(RelPath::parse("sub/b.txt"));
        }).find("sub/b.txt") != std::string::npos);
}

TEST_CASE("a mapping outlives its file") {
  const Scratch box;
  const std::string path = box.put("f", "bytes");
  const MappedFile copy = MappedFile::open(path);
  fs::remove(path);
  CHECK(copy.text() == "bytes");
}

TEST_CASE("write_file replaces in one step and leaves nothing beside") {
  const Scratch box;
  const std::string path = box.put("f", "old");
  struct stat before {
  }, after{};
  ::stat(path.c_str(), &before);
  const int held = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  write_file(path, "new");
  ::stat(path.c_str(), &after);
  CHECK(before.st_ino != after.st_ino);
  CHECK(read_file(path) == "new");
  CHECK(MappedFile::map(held, "held").text() == "old");
  ::close(held);
  CHECK(box.count() == 1);

  fs::create_directories(box / "folder/x");
  CHECK_THROWS_AS(write_file(box / "folder", "bytes"), Error);
  CHECK_THROWS_AS(write_file(box / "none/f", "bytes"), Error);
  CHECK(box.count() == 3);
}

TEST_CASE("read_file holds to its limit") {
  const Scratch box;
  const std::string path = box.put("f", "12345");
  CHECK(read_file(path, 5) == "12345");
  error_of(Code::refused, [&] { read_file(path, 4); });
  error_of(Code::not_found, [&] { read_file(box / "none"); });
  error_of(Code::usage, [&] { read_file(box.path()); });
  error_of(Code::refused, [] { read_file("/dev/zero", 1000); });
}

TEST_CASE("folders are made once and again") {
  const Scratch box;
  make_folders(box / "a/b/c");
  make_folders(box / "a/b/c");
  CHECK(is_folder(box / "a/b/c"));
  const std::string file = box.put("file", "");
  CHECK_FALSE(is_folder(file));
  error_of(Code::storage, [&] { make_folders(file + "/below"); });
  CHECK(free_bytes(box.path()) > 0);
}
