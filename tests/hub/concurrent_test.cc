// Many processes at one cache, and processes that are killed at every step.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "base/error.h"
#include "tests/hub/tree.h"

using namespace hub;
namespace fs = std::filesystem;

namespace {

Request ask(const char* text) { return Request::parse(text); }

std::vector<int> run_together(const std::vector<std::vector<std::string>>& programs) {
  std::vector<int> status(programs.size(), -1);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < programs.size(); ++i) {
    threads.emplace_back([&, i] { status[i] = run_program(programs[i]); });
  }
  for (auto& thread : threads) thread.join();
  return status;
}

/// Empty, or what is wrong with the cache.
std::string fault(const Tree& tree, const std::map<std::string, std::string>& files,
                  bool installed) {
  Silent silent;
  Hub hub(tree.settings(), silent);
  const auto found = hub.find(ask("demo"));
  if (found.has_value() != installed) return installed ? "not installed" : "installed";
  if (found) {
    for (const auto& [path, bytes] : files) {
      if (content(*found, path) != bytes) return path + " is wrong";
    }
  }
  for (const auto& report : hub.verify(std::nullopt)) {
    for (const auto& problem : report.problems) return problem;
  }
  for (const auto& file : files_below(tree.home() + "/tmp")) {
    if (file != "lock") return "left behind: " + file;
  }
  return "";
}

}  // namespace

TEST_CASE("eight processes install one module into an empty cache (C04)") {
  const bool locks = GENERATE(true, false);
  INFO((locks ? "with locks" : "with locks that are a lie"));
  std::vector<std::string> driver = {INSTALL_DRIVER};
  if (!locks)
    driver = {"env", "LD_PRELOAD=" NO_LOCK, "ASAN_OPTIONS=verify_asan_link_order=0",
              INSTALL_DRIVER};
  for (int round = 0; round < 20; ++round) {
    Tree tree;
    const TestModule demo{.files = {{"weights.bin", noise(300'000)}, {"labels.txt", "cat\n"}}};
    tree.add(demo);
    auto words = driver;
    for (const auto& word :
         {std::string("install"), tree.home(), tree.registry(), std::string("demo")})
      words.push_back(word);
    CHECK(run_together({8, words}) == std::vector<int>(8, 0));
    CHECK(fault(tree, demo.files, true) == "");
    CHECK(files_below(tree.home() + "/blobs").size() == 2);
  }
}

TEST_CASE("installs and uninstalls of modules that share a file, at once") {
  Tree tree;
  const TestModule demo,
      other{.name = "other", .files = {{"same.bin", noise(5000)}, {"own", "own"}}};
  tree.add(demo);
  tree.add(other);
  const auto words = [&](const char* verb, const char* name) {
    return std::vector<std::string>{INSTALL_DRIVER, verb, tree.home(), tree.registry(), name};
  };
  for (int round = 0; round < 15; ++round) {
    REQUIRE(run_program(words("install", "other")) == 0);
    const auto status = run_together(
        {words("uninstall", "other"), words("install", "demo"), words("install", "demo")});
    CHECK(status == std::vector<int>(3, 0));
    CHECK(fault(tree, demo.files, true) == "");
    REQUIRE(run_program(words("uninstall", "demo")) == 0);
    CHECK(fault(tree, {}, false) == "");
    CHECK(files_below(tree.home() + "/blobs").empty());
  }
}

TEST_CASE("killed before any system call, the cache is old or new, and the same command mends it") {
  if (run_program({"sh", "-c", "strace -o /dev/null true"}) != 0) {
    WARN("strace cannot be used here: not tested");
    return;
  }
  const std::string verb = GENERATE("install", "upgrade", "uninstall");
  const TestModule old,
      demo = {.version = verb == "upgrade" ? "1.1.0" : "1.0.0",
              .files = {{"weights.bin", noise(5000, 2)}, {"labels.txt", "cat\ndog\n"}}};
  const std::string before = verb == "upgrade"     ? "demo@1.0.0"
                             : verb == "uninstall" ? "demo@1.0.0"
                                                   : "";
  size_t points = 0;
  for (const char* call : {"openat", "mkdir", "write", "pwrite64", "fsync", "fdatasync",
                           "ftruncate", "fchmod", "rename", "unlink", "rmdir"}) {
    for (int n = 1;; ++n) {
      INFO(verb << " killed before " << call << " " << n);
      Tree tree;
      if (verb == "upgrade") tree.add(old);
      if (verb != "upgrade") tree.add(demo);
      Silent silent;
      if (!before.empty()) Hub(tree.settings(), silent).install(ask("demo"));
      if (verb == "upgrade") tree.add(demo);
      const std::string request = verb == "uninstall" ? "demo" : "demo@" + demo.version;
      const std::string action = verb == "uninstall" ? "uninstall" : "install";
      const int status = run_program(
          {"strace", "-f", "-o", "/dev/null", "-E", "ASAN_OPTIONS=detect_leaks=0", "-e",
           concat("trace=", call), "-e", concat("inject=", call, ":signal=KILL:when=", n),
           INSTALL_DRIVER, action, tree.home(), tree.registry(), request});
      if (status == 0) break;
      REQUIRE(status == 128 + 9);
      ++points;
      {
        Hub hub(tree.settings(), silent);
        size_t whole = 0;
        for (const auto& report : hub.verify(std::nullopt)) {
          for (const auto& problem : report.problems) FAIL_CHECK(problem);
          ++whole;
        }
        CHECK(whole <= (verb == "upgrade" ? 2 : 1));
        if (verb == "upgrade") CHECK(hub.find(ask("demo@1.0.0")));
        CHECK(files_below(tree.home() + "/tmp").size() <= 2);
        if (verb != "uninstall") {
          CHECK_FALSE(hub.install(ask(request.c_str())).broken);
        } else if (hub.find(ask("demo"))) {
          hub.uninstall(ask("demo"));
        }
      }
      CHECK(fault(tree, demo.files, verb != "uninstall") == "");
    }
  }
  CHECK(points > 30);
}
