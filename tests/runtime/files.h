// Files in memory for the import tests, and the damage done to them.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <functional>
#include <map>
#include <random>
#include <string>

#include "base/error.h"
#include "base/file.h"

namespace hub {

inline MappedFile mapped(std::string_view bytes) {
  const int fd = ::memfd_create("test", MFD_CLOEXEC);
  REQUIRE(fd >= 0);
  REQUIRE(::write(fd, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  MappedFile file = MappedFile::map(fd, "test file");
  ::close(fd);
  return file;
}

struct MemoryFiles final : Files {
  std::map<std::string, std::string> files;
  explicit MemoryFiles(std::map<std::string, std::string> f) : files(std::move(f)) {}
  MappedFile open(const RelPath& path) const override {
    const auto it = files.find(path.str());
    if (it == files.end()) fail(Code::not_found, "no file ", path.str());
    return mapped(it->second);
  }
  bool has(const RelPath& path) const override { return files.contains(path.str()); }
};

/// Reads a file of the source tree.
inline std::string data_file(std::string_view name) {
  return read_file(concat(HUB_SOURCE_DIR, "/tests/data/import/", name));
}

/// Every beginning of `bytes` must be refused; damaged in a few places it may be read or refused.
/// Anything but an Error ends the test, and the sanitizers see the rest.
inline void check_damage(const std::string& bytes,
                         const std::function<void(const std::string&)>& read, int mutants = 2000) {
  read(bytes);
  for (size_t n = 0; n < bytes.size(); ++n) {
    INFO("cut to " << n << " of " << bytes.size() << " bytes");
    CHECK_THROWS_AS(read(bytes.substr(0, n)), Error);
  }
  std::mt19937 random(7);
  int refused = 0;
  for (int i = 0; i < mutants; ++i) {
    std::string mutant = bytes;
    for (unsigned hits = 1 + random() % 4; hits > 0; --hits) {
      constexpr char edges[] = {0, 1, '\x7f', '\x80', '\xff'};
      char& c = mutant[random() % mutant.size()];
      c = random() % 2 == 0 ? edges[random() % sizeof edges]
                            : static_cast<char>(c ^ (1 << random() % 8));
    }
    try {
      read(mutant);
    } catch (const Error&) {
      ++refused;
    }
  }
  CHECK(refused > 0);
}

}  // namespace hub
