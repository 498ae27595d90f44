#include "hub/cache.h"

#include <fcntl.h>
#include <grp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "hub/database.h"
#include "tests/error_of.h"
#include "tests/hub/tree.h"

using namespace hub;
using Catch::Matchers::Contains;
namespace fs = std::filesystem;

namespace {

Request ask(const char* text) { return Request::parse(text); }

/// A tree with demo@1.0.0 installed.
struct Ready : Tree {
  TestModule demo;
  Digest weights = Sha256::of(demo.files.at("weights.bin"));
  Silent silent;
  Ready() {
    add(demo);
    Hub(settings(), silent).install(ask("demo"));
  }
  std::string weights_blob() const { return blob("home", weights); }
};

void flip(const std::string& path, size_t at) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(static_cast<std::streamoff>(at));
  const char c = static_cast<char>(file.get() ^ 1);
  file.seekp(static_cast<std::streamoff>(at));
  file.put(c);
}

}  // namespace

TEST_CASE("damage in the cache is seen, named and mended (C01)") {
  struct {
    const char* what;
    std::function<void(const std::string&)> damage;
    bool seen_by_find;  ///< without reading the file
  } rows[] = {
      {"gone", [](const std::string& p) { fs::remove(p); }, true},
      {"shorter", [](const std::string& p) { fs::resize_file(p, 100); }, true},
      {"empty", [](const std::string& p) { fs::resize_file(p, 0); }, true},
      {"one bit", [](const std::string& p) { flip(p, 4321); }, false},
      {"another file of this size", [](const std::string& p) { write_file(p, noise(5000, 7)); },
       false},
      {"a link",
       [](const std::string& p) {
         fs::rename(p, p + ".real");
         fs::create_symlink(p + ".real", p);
       },
       true},
  };
  for (const auto& row : rows) {
    INFO(row.what);
    Ready ready;
    row.damage(ready.weights_blob());
    Recorder said;
    Hub hub(ready.settings(), said);
    auto found = hub.find(ask("demo"));
    REQUIRE(found);
    CHECK(found->broken == row.seen_by_find);
    CHECK(hub.list().at(0).broken);
    const auto message = error_of(Code::integrity, [&] { content(*found, "weights.bin"); });
    CHECK_THAT(message,
               Contains("'weights.bin' of demo@1.0.0") && Contains("hub install demo@1.0.0"));
    CHECK(content(*found, "labels.txt") == "cat\ndog\n");
    const auto reports = hub.verify(std::nullopt);
    REQUIRE(reports.at(0).problems.size() == 1);
    CHECK_THAT(reports[0].problems[0], Contains("weights.bin"));
    CHECK(hub.find(ask("demo"))->broken);
    CHECK(content(hub.need(ask("demo")), "weights.bin") == ready.demo.files.at("weights.bin"));
    CHECK_THAT(said.notes, Contains("fetching it again"));
    CHECK(hub.verify(ask("demo")).at(0).problems.empty());
    CHECK_FALSE(hub.list().at(0).broken);
  }
}

TEST_CASE("only the damaged file is fetched again, and not more than asked for") {
  Ready ready;
  flip(ready.weights_blob(), 1);
  fs::remove(ready.blob("registry", Sha256::of("cat\ndog\n")));  // cannot be fetched any more
  fs::remove_all(ready.registry() + "/index");
  Hub hub(ready.settings(), ready.silent);
  CHECK(content(hub.install(ask("demo")), "weights.bin") == ready.demo.files.at("weights.bin"));
}

TEST_CASE("every single bit that flips in a blob is found") {
  Ready ready;
  Hub hub(ready.settings(), ready.silent);
  const auto found = hub.find(ask("demo"));
  for (size_t i = 0; i < 200; ++i) {
    flip(ready.weights_blob(), i * 25);
    CHECK(hub.verify(ask("demo")).at(0).problems.size() == 1);
    std::ofstream(ready.weights_blob(), std::ios::binary) << ready.demo.files.at("weights.bin");
  }
  CHECK(content(*found, "weights.bin").size() == 5000);
}

TEST_CASE("a file that was only touched is read once and then believed again") {
  Ready ready;
  fs::last_write_time(ready.weights_blob(),
                      fs::file_time_type::clock::now() - std::chrono::hours(5));
  const auto stamp = Stamp::of(ready.weights_blob());
  const auto cache = std::make_shared<Cache>(ready.home(), ready.silent);
  CHECK(cache->catalog().stamp(ready.weights) != stamp);
  CHECK(content(*cache->open(ModuleName::parse("demo"), Version::parse("1.0.0")), "weights.bin")
            .size() == 5000);
  CHECK(cache->catalog().stamp(ready.weights) == stamp);
}

TEST_CASE("the database is only an index") {
  const auto put = [](const std::string& bytes) {
    return [bytes](const std::string& db) {
      fs::remove(db + "-wal");
      fs::remove(db + "-shm");
      std::ofstream(db, std::ios::binary | std::ios::trunc) << bytes;
    };
  };
  struct {
    const char* what;
    std::function<void(const std::string&)> damage;
    bool kept;  ///< the damaged file is set aside
  } rows[] = {
      {"gone", [](const std::string& db) { fs::remove(db); }, false},
      {"empty", put(""), false},
      {"not a database", put(noise(8192)), true},
      {"text", put("hello"), true},
      {"cut off", [](const std::string& db) { fs::resize_file(db, fs::file_size(db) / 2); }, true},
      {"a page overwritten",
       [](const std::string& db) {
         std::fstream file(db, std::ios::in | std::ios::out | std::ios::binary);
         file.seekp(4096);
         file << std::string(fs::file_size(db) - 4096, '\x55');
       },
       true},
      {"only the log is odd",
       [](const std::string& db) { std::ofstream(db + "-wal") << noise(5000); }, false},
  };
  for (const auto& row : rows) {
    INFO(row.what);
    Ready ready;
    row.damage(ready.home() + "/hub.db");
    fs::remove_all(ready.registry());
    Recorder said;
    Hub hub(ready.settings(), said);
    const auto found = hub.find(ask("demo"));
    REQUIRE(found);
    CHECK(content(*found, "weights.bin") == ready.demo.files.at("weights.bin"));
    CHECK(hub.verify(std::nullopt).at(0).problems.empty());
    size_t aside = 0;
    for (const auto& file : files_below(ready.home())) aside += file.find("hub.db.damaged-") == 0;
    CHECK((aside > 0) == row.kept);
    if (row.kept) CHECK_THAT(said.notes, Contains("moved to"));
  }
}

TEST_CASE("a module with a blob that is not there does not become visible") {
  Ready ready;
  const auto cache = std::make_shared<Cache>(ready.home(), ready.silent);
  const Manifest manifest =
      cache->open(ModuleName::parse("demo"), Version::parse("1.0.0"))->manifest;
  cache->remove(manifest.name, manifest.version);
  CHECK_FALSE(cache->catalog().put(manifest, "", {}, cache->blobs()));
  CHECK_FALSE(exists(ready.home() + "/modules/demo/1.0.0"));
  CHECK(cache->catalog().modules().empty());
}

TEST_CASE("a database of a newer hub is left alone") {
  Ready ready;
  Database(ready.home() + "/hub.db", Database::Mode::read_write).run("PRAGMA user_version = 7");
  CHECK_THAT(error_of(Code::unsupported, [&] { Hub(ready.settings(), ready.silent); }),
             Contains("schema 7") && Contains("newer hub"));
}

TEST_CASE("manifests that are none do not stop a new index") {
  Ready ready;
  fs::remove(ready.home() + "/hub.db");
  ready.scratch().put("home/modules/demo/1.0.1", "{}");
  std::string elsewhere = read_file(ready.home() + "/modules/demo/1.0.0");
  elsewhere.replace(elsewhere.find("1.0.0"), 5, "3.0.0");
  ready.scratch().put("home/modules/wrong/1.0.0", elsewhere);
  Recorder said;
  CHECK(Hub(ready.settings(), said).list().size() == 1);
  CHECK_THAT(said.notes, Contains("left out") && Contains("modules/demo/1.0.1"));
}

TEST_CASE("a cache that cannot be written can be used (C02)") {
  Ready ready;
  fs::permissions(ready.scratch().path(), fs::perms(0755));
  struct {
    const char* what;
    std::function<void()> prepare;
  } rows[] = {
      {"as it was left", [] {}},
      {"with a log that was not folded in",
       [&] {
         const std::string db = ready.home() + "/hub.db";
         {
           Database writer(db, Database::Mode::read_write);
           writer.run("UPDATE modules SET registry = 'x'");
           fs::copy(db + "-wal", db + ".log");
         }
         fs::rename(db + ".log", db + "-wal");
       }},
      {"without its database",
       [&] {
         fs::remove(ready.home() + "/hub.db");
         fs::remove(ready.home() + "/hub.db-wal");
       }},
      {"with a damaged database", [&] { std::ofstream(ready.home() + "/hub.db") << noise(5000); }}};
  if (::geteuid() != 0) WARN("run as root to test as another user");
  for (const auto& row : rows) {
    INFO(row.what);
    row.prepare();
    for (const auto& entry : fs::recursive_directory_iterator(ready.home())) {
      fs::permissions(entry.path(), entry.is_directory() ? fs::perms(0555) : fs::perms(0444));
    }
    fs::permissions(ready.home(), fs::perms(0555));
    const auto before = files_below(ready.home());
    CHECK(in_child([&] {
            if (::geteuid() == 0 &&
                (::setgroups(0, nullptr) != 0 || ::setgid(65534) != 0 || ::setuid(65534) != 0))
              return 50;
            Recorder said;
            Hub hub(ready.settings(), said);
            const auto found = hub.find(ask("demo"));
            if (!found || found->broken || !found->plans.empty()) return 1;
            if (content(*found, "weights.bin") != ready.demo.files.at("weights.bin")) return 2;
            if (hub.list().size() != 1 || !hub.verify(std::nullopt).at(0).problems.empty())
              return 3;
            if (!hub.install(ask("demo")).files->has(RelPath::parse("labels.txt"))) return 4;
            // As long as there is a database it is read.
            if (said.notes.empty() != (row.what == rows[0].what)) return 7;
            try {
              hub.uninstall(ask("demo"));
              return 5;
            } catch (const Error& e) {
              if (e.code() != Code::storage ||
                  std::string(e.what()).find(ready.home()) == std::string::npos)
                return 6;
            }
            return 0;
          }) == 0);
    CHECK(files_below(ready.home()) == before);
    for (const auto& entry : fs::recursive_directory_iterator(ready.home())) {
      if (entry.is_directory()) fs::permissions(entry.path(), fs::perms(0755));
    }
    fs::permissions(ready.home(), fs::perms(0755));
  }
}

TEST_CASE("what ended processes left behind is collected") {
  Ready ready;
  const std::string other = Sha256::of("other").hex(), dead = ".4194305.";
  struct {
    std::string name, bytes;
    int hours;
    bool kept, kept_by_all;
  } rows[] = {{other + dead + "aaaaaa", "partial", 1, true, false},
              {other + ".0.bbbbbb", "partial", 1, true, false},
              {other + dead + "cccccc", "", 1, false, false},
              {other + dead + "dddddd", "partial", 30, false, false},
              {ready.weights.hex() + dead + "eeeeee", "partial", 1, false, false},
              {concat(other, ".", ::getpid(), ".ffffff"), "partial", 30, true, true},
              {concat(other, ".", ::getpid(), ".gggggg"), "partial", 60, false, false},
              {"somebody's file", "", 60, true, true}};
  for (const bool all : {false, true}) {
    for (const auto& row : rows) {
      const std::string path = ready.scratch().put("home/tmp/" + row.name, row.bytes);
      fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::hours(row.hours));
    }
    Blobs(ready.home()).collect(all);
    for (const auto& row : rows) {
      INFO(row.name << (all ? ", all" : ""));
      CHECK(exists(ready.home() + "/tmp/" + row.name) == (all ? row.kept_by_all : row.kept));
    }
  }
}

TEST_CASE("a lock that another process holds is waited for, then named") {
  Ready ready;
  const Blobs blobs(ready.home(), std::chrono::milliseconds(200));
  const std::string big = noise(3000, 5);
  const Digest digest = Sha256::of(big);
  int from_child[2], to_child[2];
  REQUIRE(::pipe(from_child) == 0);
  REQUIRE(::pipe(to_child) == 0);
  char byte = 0;
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(to_child[1]);  // so that it ends with its parent
    blobs.add(
        digest, big.size(), "it", [] { return false; },
        [&](PrivateFile& file) {
          if (::write(from_child[1], "x", 1) != 1 || ::read(to_child[0], &byte, 1) != 1) ::_exit(1);
          file.add(big);
        });
    ::_exit(0);
  }
  REQUIRE(::read(from_child[0], &byte, 1) == 1);
  const auto none = [](PrivateFile&) { FAIL("fetched twice"); };
  const auto message = error_of(Code::busy, [&] {
    blobs.add(
        digest, big.size(), "it", [] { return false; }, none);
  });
  CHECK_THAT(message, Contains(concat("process ", child, " is downloading it")));
  // Another digest is not held up.
  const std::string small = "small";
  blobs.add(
      Sha256::of(small), small.size(), "small", [] { return false; },
      [&](PrivateFile& file) { file.add(small); });
  REQUIRE(::write(to_child[1], "x", 1) == 1);
  const Blobs patient(ready.home());
  patient.add(
      digest, big.size(), "it", [&] { return exists(blobs.path(digest)); }, none);
  CHECK(read_file(blobs.path(digest)) == big);
}

TEST_CASE("the time of the last use is kept, without a write each time") {
  Ready ready;
  const auto cache = std::make_shared<Cache>(ready.home(), ready.silent);
  Database db(ready.home() + "/hub.db", Database::Mode::read_write);
  const auto used = [&] {
    return cache->catalog().row(ModuleName::parse("demo"), Version::parse("1.0.0"))->last_used;
  };
  db.run("UPDATE modules SET last_used = 1000");
  cache->catalog().touch(ModuleName::parse("demo"), Version::parse("1.0.0"));
  const int64_t now = used();
  CHECK(now > 1'600'000'000);
  db.run(concat("UPDATE modules SET last_used = ", now - 1000));
  cache->catalog().touch(ModuleName::parse("demo"), Version::parse("1.0.0"));
  CHECK(used() == now - 1000);
}

TEST_CASE("a cache under a path with blanks, ideographs and signs") {
  Tree tree;
  tree.add({});
  Settings settings = tree.settings();
  settings.home = tree.scratch() / "模型 a?b#c%20d/";
  Silent silent;
  Hub(settings, silent).install(ask("demo"));
  CHECK(content(*Hub(settings, silent).find(ask("demo")), "labels.txt") == "cat\ndog\n");
  CHECK(fs::file_size(tree.scratch() / "模型 a?b#c%20d/hub.db") > 4096);
}
