#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <filesystem>

#include "hub/hub.h"
#include "tests/error_of.h"
#include "tests/hub/server.h"
#include "tests/hub/tree.h"

using namespace hub;
using Catch::Matchers::Contains;

namespace {

Request ask(const char* text) { return Request::parse(text); }

/// What the cache holds: nothing of a module and nothing half done.
void check_nothing(const Tree& tree) {
  Silent silent;
  CHECK(Hub(tree.settings(), silent).list().empty());
  auto left = files_below(tree.home());
  for (const char* kept : {"hub.db", "hub.db-wal", "hub.db-shm", "tmp/lock"}) left.erase(kept);
  CHECK(left.empty());
}

std::string case_file(const char* name) {
  return read_file(concat(HUB_SOURCE_DIR, "/tests/data/registry/", name));
}

struct WebTree : Tree {
  std::function<Reply(const Hit&, Reply)> twist = [](const Hit&, Reply r) { return r; };
  Server server{[this](const Hit& hit) { return twist(hit, Server::file(registry(), hit)); }};
  Settings web() const {
    Settings s = settings();
    s.registries = {server.url()};
    return s;
  }
};

}  // namespace

TEST_CASE("a module is installed, found, listed, shown, searched and removed") {
  Tree tree;
  const TestModule demo,
      other{.name = "other", .files = {{"deep/x.bin", noise(5000)}, {"empty", ""}}};
  tree.add(demo);
  tree.add(other);
  Recorder said;
  Hub hub(tree.settings(), said);
  CHECK_FALSE(hub.find(ask("demo")));
  CHECK(hub.show(ask("demo")).id() == "demo@1.0.0");
  const Installed installed = hub.install(ask("demo"));
  CHECK(said.last_done == 5008);
  CHECK(said.last_total == 5008);
  CHECK_FALSE(installed.broken);
  CHECK(content(installed, "weights.bin") == demo.files.at("weights.bin"));
  CHECK(content(installed, "labels.txt") == "cat\ndog\n");
  CHECK(std::filesystem::is_directory(installed.plans));
  CHECK_THAT(installed.installed_at, Catch::Matchers::Matches("20..-..-..T..:..:..Z"));
  CHECK_THAT(error_of(Code::not_found, [&] { content(installed, "nosuch"); }),
             Contains("demo@1.0.0 has no file 'nosuch'"));
  CHECK_FALSE(installed.files->has(RelPath::parse("nosuch")));
  hub.need(ask("other@1.0.0"));
  CHECK(content(*hub.find(ask("other")), "empty").empty());
  CHECK(hub.list().size() == 2);
  CHECK(hub.search({"Image", "OTH"}).size() == 1);
  CHECK(hub.search({}).size() == 2);
  CHECK(hub.versions(ModuleName::parse("demo")).size() == 1);
  // The two share the 5000 bytes.
  const auto shared = Sha256::of(demo.files.at("weights.bin")), own = Sha256::of("cat\ndog\n");
  CHECK(hub.uninstall(ask("demo")) == std::vector<std::string>{"demo@1.0.0"});
  CHECK(exists(tree.blob("home", shared)));
  CHECK_FALSE(exists(tree.blob("home", own)));
  CHECK_FALSE(exists(installed.plans));
  CHECK_FALSE(hub.find(ask("demo")));
  CHECK(hub.verify(std::nullopt).at(0).problems.empty());
  hub.uninstall(ask("other"));
  CHECK_THAT(error_of(Code::not_found, [&] { hub.uninstall(ask("other")); }),
             Contains("'other' is not installed"));
  check_nothing(tree);
}

TEST_CASE("what a registry promises is checked, and nothing of a refused module stays") {
  const std::string payload = case_file("payload.bin"), flipped = case_file("payload_bitflip.bin"),
                    shorter = case_file("payload_short.bin");
  const std::string good = case_file("manifest_ok.json");
  const std::string right = Sha256::of(payload).hex(), wrong = Sha256::of(flipped).hex();
  struct {
    const char* row;
    std::string manifest, served;
    Code code;
    std::vector<std::string> words;
  } rows[] = {
      {"R01",
       case_file("manifest_wrong_sha.json"),
       payload,
       Code::integrity,
       {right, right.substr(0, 62) + "60"}},
      {"R02", good, flipped, Code::integrity, {right, wrong, "weights.bin"}},
      {"short", good, shorter, Code::integrity, {"831", "832"}},
      {"long", good, payload + "x", Code::integrity, {"832"}},
      {"size", case_file("manifest_wrong_size.json"), payload, Code::integrity, {"832", "833"}},
      {"R04",
       case_file("manifest_digest_traversal.json"),
       payload,
       Code::refused,
       {"64 hexadecimal digits"}},
  };
  for (const bool web : {false, true}) {
    for (const auto& row : rows) {
      INFO(row.row << (web ? " by http" : " by file"));
      WebTree tree;
      tree.add_manifest(row.manifest);
      for (const std::string& name : {right, right.substr(0, 62) + "60"}) {
        tree.scratch().put(concat("registry/", blob_path(Digest::parse(name))), row.served);
      }
      const Settings settings = web ? tree.web() : tree.settings();
      Silent silent;
      Hub hub(settings, silent);
      const std::string message = error_of(row.code, [&] { hub.install(ask("demo")); });
      for (const auto& word : row.words) CHECK_THAT(message, Contains(word));
      CHECK_FALSE(hub.find(ask("demo")));
      check_nothing(tree);
      if (std::string(row.row) == "R04") {
        for (const Hit& hit : tree.server.hits()) CHECK_THAT(hit.target, !Contains("pwned"));
      }
      // The registry is mended: the same cache takes it without any cleaning.
      tree.add_manifest(good);
      tree.scratch().put(concat("registry/", blob_path(Sha256::of(payload))), payload);
      CHECK(content(Hub(settings, silent).install(ask("demo")), "weights.bin") == payload);
    }
  }
}

TEST_CASE("a manifest is what the index says") {
  Tree tree;
  const Digest digest = tree.add({});
  const std::string path = tree.blob("registry", digest), text = read_file(path);
  Silent silent;
  for (const std::string& bad :
       {text + " ", text.substr(1), std::string(text.size(), ' '), std::string()}) {
    write_file(path, bad);
    CHECK_THAT(
        error_of(Code::integrity, [&] { Hub(tree.settings(), silent).install(ask("demo")); }),
        Contains(digest.hex()) || Contains("bytes"));
  }
  std::filesystem::remove(path);
  CHECK_THAT(error_of(Code::integrity, [&] { Hub(tree.settings(), silent).show(ask("demo")); }),
             Contains("manifest of demo@1.0.0"));
  tree.add_manifest(
      R"({"name": "demo", "version": "1.0.1", "files": [{"path": "x", "size": 0, "sha256": ")" +
      Sha256::of("").hex() + "\"}]}");
  CHECK_THAT(error_of(Code::integrity, [&] { Hub(tree.settings(), silent).install(ask("demo")); }),
             Contains("says that it is demo@1.0.1"));
  check_nothing(tree);
}

TEST_CASE("names and versions that are not there (R12)") {
  Tree tree;
  for (const char* v : {"1.2.0", "1.10.0", "1.9.3", "2.0.0-beta.1"}) tree.add({.version = v});
  tree.add({.name = "early", .version = "0.1.0-rc.1"});
  Silent silent;
  Hub hub(tree.settings(), silent);
  struct {
    const char* request;
    const char* word;
  } rows[] = {
      {"demo@3.0.0", "'demo' has no version 3.0.0; available: 1.2.0, 1.9.3, 1.10.0, 2.0.0-beta.1"},
      {"early", "0.1.0-rc.1"},
      {"dmo", "did you mean 'demo'?"},
      {"zebra", "no module 'zebra'"}};
  for (const auto& row : rows) {
    CHECK_THAT(error_of(Code::not_found, [&] { hub.install(ask(row.request)); }),
               Contains(row.word));
    CHECK_THAT(error_of(Code::not_found, [&] { hub.show(ask(row.request)); }), Contains(row.word));
  }
  CHECK(hub.install(ask("demo@latest")).manifest.version.str() == "1.10.0");
  CHECK(hub.install(ask("demo==1.9.3")).manifest.version.str() == "1.9.3");
  CHECK(hub.find(ask("demo"))->manifest.version.str() == "1.10.0");
  CHECK(hub.install(ask("demo@2.0.0-beta.1")).manifest.version.str() == "2.0.0-beta.1");
  CHECK(hub.find(ask("demo"))->manifest.version.str() == "1.10.0");
  CHECK(hub.search({"demo"}).at(0).version.str() == "1.10.0");
  std::string all;
  for (const Version& v : hub.versions(ModuleName::parse("demo"))) all += v.str() + " ";
  CHECK(all == "1.2.0 1.9.3 1.10.0 2.0.0-beta.1 ");
  CHECK(hub.uninstall(ask("demo")).size() == 3);
}

TEST_CASE("a folder of the module's name beside us changes nothing (R11)") {
  Tree tree;
  tree.add({});
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(tree.scratch().path());
  std::filesystem::create_directory("demo");
  Silent silent;
  CHECK(Hub(tree.settings(), silent).install(ask("demo")).manifest.id() == "demo@1.0.0");
  std::filesystem::current_path(before);
}

TEST_CASE("what a module requires comes with it (R14, R15)") {
  Tree tree;
  tree.add({.name = "b", .version = "1.1.0", .files = {{"b", "1.1"}}});
  tree.add(
      {.name = "a", .files = {{"a", "a"}}, .requirements = {{"b", ">=1.2.0"}, {"hub", ">=0.1"}}});
  tree.add({.name = "new", .files = {{"n", "n"}}, .requirements = {{"hub", ">=99"}}});
  tree.add({.name = "ring", .files = {{"r", "r"}}, .requirements = {{"ring", ">=1"}}});
  Silent silent;
  {
    Hub hub(tree.settings(), silent);
    hub.install(ask("b"));
    const auto message = error_of(Code::not_found, [&] { hub.install(ask("a")); });
    for (const char* word :
         {"a@1.0.0 requires b >=1.2.0", "installed is 1.1.0", "available: 1.1.0"})
      CHECK_THAT(message, Contains(word));
    CHECK_FALSE(hub.find(ask("a")));
    const auto engine = error_of(Code::unsupported, [&] { hub.install(ask("new")); });
    CHECK_THAT(engine, Contains("new@1.0.0 requires hub >=99") && Contains("this is hub 0.1.0"));
    CHECK(hub.list().size() == 1);
    CHECK_FALSE(hub.install(ask("ring")).broken);
    CHECK_FALSE(hub.install(ask("ring")).broken);
  }
  tree.add({.name = "b", .version = "1.3.0", .files = {{"b", "1.3"}}});
  tree.add({.name = "b", .version = "1.2.0", .files = {{"b", "1.2"}}});
  Hub hub(tree.settings(), silent);
  hub.install(ask("a"));
  CHECK(content(*hub.find(ask("b")), "b") == "1.3");
  // Also what is installed already is looked at: its requirement went away.
  hub.uninstall(ask("b"));
  hub.install(ask("a"));
  CHECK(hub.find(ask("b"))->manifest.version.str() == "1.3.0");
}

TEST_CASE("registries are asked in order") {
  Tree first, second;
  first.add({.files = {{"x", "first"}}});
  second.add({.files = {{"x", "second"}}});
  second.add({.version = "2.0.0", .files = {{"x", "second 2"}}});
  Settings settings = first.settings();
  settings.registries = {"file://" + first.home() + "/nosuch", "file:" + first.registry(),
                         second.registry() + "/"};
  Recorder said;
  Hub hub(settings, said);
  CHECK(content(hub.install(ask("demo")), "x") == "first");
  CHECK_THAT(said.notes, Contains("nosuch"));
  CHECK(content(hub.install(ask("demo@2.0.0")), "x") == "second 2");
  CHECK(hub.search({}).at(0).version.str() == "1.0.0");
  // With a registry out of reach nobody can say that a module does not exist.
  CHECK_THAT(error_of(Code::network, [&] { hub.install(ask("nothing")); }),
             Contains("nosuch") && Contains("nothing is not in the cache"));
  settings.registries = {};
  CHECK_THAT(error_of(Code::usage, [&] { Hub(settings, said).install(ask("x")); }),
             Contains("no registry is set"));
  settings.registries = {"ftp://host/x"};
  CHECK_THAT(error_of(Code::usage, [&] { Hub(settings, said).install(ask("x")); }),
             Contains("ftp://host/x"));
}

TEST_CASE("an interrupted download goes on where it stopped (C06)") {
  const std::string big = noise(1'000'000);
  for (const bool ranges : {true, false}) {
    for (const char* end : {"error", "killed"}) {
      INFO((ranges ? "with ranges, " : "without ranges, ") << end);
      WebTree tree;
      tree.add({.files = {{"weights.bin", big}}});
      bool cut = true;
      const std::string target = concat("/", blob_path(Sha256::of(big)));
      tree.twist = [&](const Hit& hit, Reply r) {
        if (hit.target != target) return r;
        if (!ranges) r = Reply{.body = big};
        if (cut) r.cut = hit.from < 400'000 ? 400'000 - hit.from : 0;
        return r;
      };
      Silent silent;
      Settings settings = tree.web();
      settings.retries = 0;
      CHECK_THAT(error_of(Code::network, [&] { Hub(settings, silent).install(ask("demo")); }),
                 Contains(tree.server.url()) && Contains("attempt"));
      CHECK(Hub(settings, silent).list().empty());
      // A second failure does not leave a second file.
      error_of(Code::network, [&] { Hub(settings, silent).install(ask("demo")); });
      CHECK(files_below(tree.home() + "/tmp").size() == 2);
      if (std::string(end) == "killed") {
        // The name as a process that was killed leaves it: a pid that is no more.
        for (const auto& file : files_below(tree.home() + "/tmp")) {
          const size_t pid = file.find(".0.");
          if (pid == file.npos) continue;
          std::filesystem::rename(
              tree.home() + "/tmp/" + file,
              tree.home() + "/tmp/" + file.substr(0, pid) + ".4194305." + file.substr(pid + 3));
        }
      }
      cut = false;
      CHECK(content(Hub(settings, silent).install(ask("demo")), "weights.bin") == big);
      std::vector<std::string> asked;
      for (const Hit& hit : tree.server.hits()) {
        if (hit.target == target) asked.push_back(hit.range);
      }
      CHECK(asked == std::vector<std::string>{"", "bytes=400000-", "bytes=400000-"});
      if (ranges) CHECK(tree.server.sent() < 1'050'000);
      CHECK(files_below(tree.home() + "/tmp") == std::set<std::string>{"lock"});
    }
  }
}

TEST_CASE("what an earlier attempt left is not believed") {
  const std::string big = noise(100'000);
  const Digest digest = Sha256::of(big);
  struct {
    const char* what;
    std::string left;
  } rows[] = {{"a wrong beginning", noise(40'000, 9)},
              {"wrong and whole", noise(100'000, 9)},
              {"too long", noise(200'000, 9)},
              {"right and whole", big},
              {"empty", ""}};
  for (const auto& row : rows) {
    INFO(row.what);
    WebTree tree;
    tree.add({.files = {{"weights.bin", big}}});
    const std::string left =
        tree.scratch().put(concat("home/tmp/", digest.hex(), ".0.abcdef"), row.left);
    Silent silent;
    CHECK(content(Hub(tree.web(), silent).install(ask("demo")), "weights.bin") == big);
    CHECK_FALSE(exists(left));
  }
  SECTION("nor followed out of the cache") {
    WebTree tree;
    tree.add({.files = {{"weights.bin", big}}});
    const std::string outside = tree.scratch().put("outside", noise(50'000, 9));
    std::filesystem::create_directories(tree.home() + "/tmp");
    const std::string link = concat(tree.home(), "/tmp/", digest.hex(), ".0.");
    std::filesystem::create_symlink(outside, link + "aaaaaa");
    std::filesystem::create_hard_link(outside, link + "bbbbbb");
    Silent silent;
    CHECK(content(Hub(tree.web(), silent).install(ask("demo")), "weights.bin") == big);
    CHECK(read_file(outside) == noise(50'000, 9));
    for (const Hit& hit : tree.server.hits()) CHECK(hit.range.empty());
  }
}

TEST_CASE("offline, nothing is asked (C03)") {
  WebTree tree;
  tree.add({});
  tree.add({.name = "other"});
  Silent silent;
  Hub(tree.web(), silent).install(ask("demo"));
  tree.server.forget();
  Settings offline = tree.web();
  offline.offline = true;
  Hub hub(offline, silent);
  CHECK(content(hub.need(ask("demo")), "labels.txt") == "cat\ndog\n");
  CHECK(content(hub.install(ask("demo@1.0.0")), "labels.txt") == "cat\ndog\n");
  CHECK(hub.show(ask("demo")).id() == "demo@1.0.0");
  CHECK(hub.versions(ModuleName::parse("demo")).size() == 1);
  CHECK_THAT(error_of(Code::network, [&] { hub.need(ask("other")); }),
             Contains("offline mode is on") && Contains("other is not in the cache"));
  CHECK_THAT(error_of(Code::network, [&] { hub.search({}); }), Contains("offline mode is on"));
  CHECK(tree.server.hits().empty());
  // A folder is no network.
  offline.registries = {tree.registry()};
  CHECK_FALSE(Hub(offline, silent).install(ask("other")).broken);
}

TEST_CASE("an installed module needs no registry, a missing one names it") {
  WebTree tree;
  tree.add({});
  Silent silent;
  Settings gone = tree.web();
  gone.registries = {"http://127.0.0.1:1"};
  gone.retries = 0;
  Hub(tree.web(), silent).install(ask("demo"));
  Hub hub(gone, silent);
  CHECK(content(hub.need(ask("demo")), "labels.txt") == "cat\ndog\n");
  CHECK_THAT(error_of(Code::network, [&] { hub.need(ask("other")); }),
             Contains("registry http://127.0.0.1:1"));
  tree.twist = [](const Hit&, const Reply&) {
    return Reply{.body = "<html>", .headers = {"Content-Type: text/html"}};
  };
  CHECK_THAT(error_of(Code::integrity, [&] { Hub(tree.web(), silent).install(ask("other")); }),
             Contains("web page"));
}

TEST_CASE("no room (C08)") {
  Tree tree;
  tree.add({.name = "small"});
  tree.add(
      {.name = "large", .files = {{"a.bin", noise(9'000'000)}, {"b.bin", noise(7'000'000, 2)}}});
  const auto attempt = [&](const std::string& home, const std::vector<const char*>& words) {
    Silent silent;
    Settings settings = tree.settings();
    settings.home = home;
    Hub hub(settings, silent);
    hub.install(ask("small"));
    const auto before = files_below(home);
    try {
      hub.install(ask("large"));
      return 1;
    } catch (const Error& e) {
      for (const char* word : words) {
        if (std::string(e.what()).find(word) == std::string::npos) throw;
      }
      if (e.code() != Code::storage) return 2;
    }
    if (files_below(home) != before) return 3;
    return hub.verify(std::nullopt).at(0).problems.empty() && hub.list().size() == 1 ? 0 : 4;
  };
  SECTION("on a small disk, before anything is fetched") {
    REQUIRE(::geteuid() == 0);
    CHECK(
        in_child([&] {
          const std::string disk = tree.scratch() / "disk";
          std::filesystem::create_directory(disk);
          if (::unshare(CLONE_NEWNS) != 0 ||
              ::mount("", "/", "", MS_REC | MS_PRIVATE, nullptr) != 0)
            return 50;
          if (::mount("tmpfs", disk.c_str(), "tmpfs", 0, "size=8m") != 0) return 51;
          return attempt(disk + "/home", {"large@1.0.0 needs 16000000 bytes", "bytes are free in"});
        }) == 0);
  }
  SECTION("in the middle of a file") {
    CHECK(in_child([&] {
            const rlimit limit{3'000'000, 3'000'000};
            ::signal(SIGXFSZ, SIG_IGN);
            if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return 50;
            return attempt(tree.home(), {"no room for file 'a.bin' of large@1.0.0",
                                         "bytes are needed", "bytes are free in"});
          }) == 0);
  }
}
