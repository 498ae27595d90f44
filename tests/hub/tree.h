// A registry made on the spot, a cache beside it, and the few things that tests do with them.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "hub/hub.h"
#include "hub/index.h"
#include "tests/scratch.h"

namespace hub {

/// Bytes that do not compress and differ by seed.
std::string noise(size_t size, unsigned seed = 1);

struct TestModule {
  std::string name = "demo", version = "1.0.0";
  std::map<std::string, std::string> files = {{"weights.bin", noise(5000)},
                                              {"labels.txt", "cat\ndog\n"}};
  std::map<std::string, std::string> requirements = {};
};

/// The folders "registry" and "home" of one test.
class Tree {
 public:
  /// Adds the module to the registry; returns the digest of its manifest.
  Digest add(const TestModule& module);
  /// The same for a manifest as it is, whatever it says; "demo@1.0.0" in the index.
  Digest add_manifest(const std::string& text);

  std::string home() const { return scratch_ / "home"; }
  std::string registry() const { return scratch_ / "registry"; }
  const Scratch& scratch() const { return scratch_; }
  /// Path of a blob, "registry" or "home".
  std::string blob(std::string_view where, const Digest& digest) const {
    return scratch_ / concat_path(where, digest);
  }
  Settings settings() const {
    return {.home = home(), .registries = {registry()}, .retries = 1, .program_version = "0.1.0"};
  }

 private:
  /// Memory where there is some: an fsync costs tens of milliseconds on a disk, and these tests
  /// make thousands.
  static std::string parent();
  static std::string concat_path(std::string_view where, const Digest& digest);
  Digest put(const std::string& bytes);
  void add_entry(IndexEntry entry);

  Scratch scratch_{parent()};
  std::vector<IndexEntry> entries_;
};

/// Keeps what is said.
struct Recorder final : Progress {
  void update(std::string_view, uint64_t done, uint64_t total) override {
    last_done = done, last_total = total;
  }
  void note(std::string_view message) override { notes += std::string(message) + "\n"; }
  uint64_t last_done = 0, last_total = 0;
  std::string notes;
};

/// The content of a file of an installed module.
std::string content(const Installed& installed, std::string_view path);
/// Paths below a folder, relative to it, files only.
std::set<std::string> files_below(const std::string& folder);
/// Runs f in a child process; its result is the exit status of f, 128 + signal, or 99 for an
/// exception (shown on stderr).
int in_child(const std::function<int()>& f);
/// Runs a program to its end; exit status or 128 + signal.
int run_program(const std::vector<std::string>& words);

}  // namespace hub
