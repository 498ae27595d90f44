// Checkpoints are complete or absent, whatever happens in a save; damaged and foreign ones are told
// apart.
#include "finetune/checkpoint.h"

#include <sys/wait.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>

#include "base/digest.h"
#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "tests/error_of.h"
#include "tests/finetune/tiny_run.h"
#include "tests/scratch.h"

namespace hub {
namespace {

const json identity = {{"base", "b"}, {"data", "d"}, {"options", {{"batch", "4"}}}};

Checkpoint at_step(int64_t step) {
  Checkpoint c;
  c.position = {.epoch = 1,
                .batch = 2,
                .step = step,
                .loss_sum = 0.1,
                .loss_weight = 3,
                .seconds = 4,
                .best = 0.75,
                .best_epoch = 0,
                .worse = 1,
                .train_loss = 0.3};
  c.states.emplace("w", random_tensor({40, 30}, static_cast<uint64_t>(step)));
  c.states.emplace("m:w", random_tensor({40, 30}, static_cast<uint64_t>(step) + 100));
  c.best.emplace("w", random_tensor({40, 30}, 5));
  return c;
}

int run_program(const std::string& words) {
  const int status = std::system(words.c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

TEST_CASE("a checkpoint comes back as it was; the latest two stay") {
  const Scratch folder;
  Checkpoints kept(folder.path(), identity);
  for (int64_t step : {3, 6, 9}) CHECK(exists(kept.save(at_step(step))));
  CHECK(checkpoint_files(folder.path()).size() == 2);
  const Checkpoint c = newest_of(folder.path(), identity), wanted = at_step(9);
  CHECK(difference(c.states, wanted.states) == "");
  CHECK(difference(c.best, wanted.best) == "");
  CHECK(c.position.step == 9);
  CHECK(c.position.best == 0.75);
  CHECK(c.position.loss_sum == 0.1);
  CHECK(c.position.train_loss == 0.3);
  CHECK_FALSE(c.position.ended);
}

TEST_CASE("a damaged checkpoint is passed over, and it is said") {
  const Scratch folder;
  std::string first, last;
  {
    Checkpoints kept(folder.path(), identity);
    first = kept.save(at_step(3));
    last = kept.save(at_step(6));
  }
  const std::string whole = read_file(last);
  std::vector<std::pair<std::string, std::string>> cases = {
      {"nothing in it", ""}, {"cut", whole.substr(0, whole.size() / 2)}, {"longer", whole + "x"}};
  for (size_t at : {size_t{0}, size_t{9}, whole.size() / 2, whole.size() - 1}) {
    std::string bytes = whole;
    bytes[at] = static_cast<char>(bytes[at] ^ 0x10);
    cases.emplace_back(concat("bit at ", at), bytes);
  }
  // Right by its name, and no checkpoint.
  for (const std::string& bytes : {std::string("{}"), std::string(8, '\0')}) {
    const std::string name = concat(folder.path(), "/checkpoint-000009-step-99-",
                                    Sha256::of(bytes).hex().substr(0, 16), ".safetensors");
    write_file(name, bytes);
    std::vector<std::string> notes;
    const auto found = Checkpoints(folder.path(), identity).newest(notes);
    CHECK(found->position.step == 6);
    CHECK(notes.size() == 1);
    std::filesystem::remove(name);
  }
  for (const auto& [what, bytes] : cases) {
    INFO(what);
    write_file(last, bytes);
    std::vector<std::string> notes;
    const auto found = Checkpoints(folder.path(), identity).newest(notes);
    REQUIRE(found);
    CHECK(found->position.step == 3);
    REQUIRE(notes.size() == 1);
    CHECK(notes[0].find(last) != std::string::npos);
    CHECK(notes[0].find("passed over") != std::string::npos);
  }
  write_file(first, "");
  std::vector<std::string> notes;
  CHECK_FALSE(Checkpoints(folder.path(), identity).newest(notes));
  CHECK(notes.size() == 2);
}

TEST_CASE("a checkpoint of another run is refused, naming what differs") {
  const Scratch folder;
  Checkpoints(folder.path(), identity).save(at_step(3));
  for (const auto& [key, was] : std::map<std::string, std::string>{
           {"base", "\"b\""}, {"data", "\"d\""}, {"seed", "not set"}}) {
    json other = identity;
    other[key] = "changed";
    std::vector<std::string> notes;
    CHECK(error_of(Code::usage, [&] { Checkpoints(folder.path(), other).newest(notes); }) ==
          concat("the checkpoint is of another run: ", key, " was ", was,
                 ", now it is \"changed\"; "
                 "resume with the same options, or start anew without --resume"));
  }
  json other = identity;
  other["options"]["batch"] = "8";
  std::vector<std::string> notes;
  CHECK(error_of(Code::usage, [&] {
          Checkpoints(folder.path(), other).newest(notes);
        }).find("run: options: batch was \"4\", now it is \"8\"; ") != std::string::npos);
}

TEST_CASE("a checkpoint that fits the run by name and not by its tensors is refused") {
  TinyRun run({.epochs = 2, .batch = 4, .rate = 0.01});
  const Scratch folder;
  Watch watch;
  watch.stop_at_step = 2;
  run.go(watch, folder.path(), false);
  const Checkpoint good = newest_of(folder.path(), run.job.identity);
  const auto refused = [&](Code code, const Checkpoint& c) {
    const Scratch other;
    Checkpoints(other.path(), run.job.identity).save(c);
    Watch again;
    return error_of(code, [&] { run.go(again, other.path(), true); });
  };
  Checkpoint c = good;
  c.states.erase("m:head.weight");
  CHECK(refused(Code::refused, c).find("lacks 'm:head.weight'") != std::string::npos);
  c = good;
  c.states.insert_or_assign("middle/w", random_tensor({4, 9}, 1));
  CHECK(refused(Code::usage, c).find("'middle/w'") != std::string::npos);
}

/// The process that is killed below.
TEST_CASE("save driver", "[.]") {
  Checkpoints(std::getenv("HUB_TEST_SAVE"), identity).save(at_step(9));
}

TEST_CASE("killed before any system call of a save, the newest whole checkpoint is used") {
  const Scratch memory(is_folder("/dev/shm") ? "/dev/shm" : "/tmp");
  const auto fill = [](const Scratch& folder) {
    Checkpoints before(folder.path(), identity);
    before.save(at_step(3));
    before.save(at_step(6));
  };
  const auto attempt = [&](const Scratch& folder, const std::string& how) {
    return run_program(concat("HUB_TEST_SAVE='", folder.path(), "' strace -f -y ", how,
                              " -E ASAN_OPTIONS=detect_leaks=0 ", HUB_BINARY_DIR,
                              "/tests/finetune_test 'save driver' >/dev/null 2>&1"));
  };
  // Which calls are of the save, each with its place among the calls of its name.
  std::vector<std::pair<std::string, int>> calls;
  {
    const Scratch folder(memory.path());
    fill(folder);
    if (attempt(folder, concat("-e trace=file,desc -o ", memory / "log")) != 0) {
      WARN("strace cannot be used here: not tested");
      return;
    }
    std::map<std::string, int> seen;
    const std::string log = read_file(memory / "log");
    for (std::string_view line : lines(log)) {
      line.remove_prefix(std::min(line.find_first_not_of("0123456789 "), line.size()));
      const std::string call(line.substr(0, line.find('(')));
      const int n = ++seen[call];
      if (line.find(folder.path()) != line.npos) calls.emplace_back(call, n);
    }
  }
  CHECK(calls.size() > 10);
  size_t kept = 0, renewed = 0;
  for (const auto& [call, n] : calls) {
    INFO("killed before " << call << " " << n);
    const Scratch folder(memory.path());
    fill(folder);
    CHECK(attempt(folder, concat("-o /dev/null -e trace=", call, " -e inject=", call,
                                 ":signal=KILL:when=", n)) == 128 + 9);
    const Checkpoint c = newest_of(folder.path(), identity);
    REQUIRE((c.position.step == 6 || c.position.step == 9));
    CHECK(difference(c.states, at_step(c.position.step).states) == "");
    (c.position.step == 6 ? kept : renewed) += 1;
    CHECK(checkpoint_files(folder.path()).size() <= 3);  // no temporary is left
  }
  CHECK(kept > 0);
  CHECK(renewed > 0);

  for (const auto& [call, n] : calls) {
    if (call != "write" && call != "fsync" && call != "rename") continue;
    for (const char* error : {"ENOSPC", "EIO"}) {
      INFO(call << " " << n << " gives " << error);
      const Scratch folder(memory.path());
      fill(folder);
      CHECK(attempt(folder, concat("-o /dev/null -e trace=", call, " -e inject=", call,
                                   ":error=", error, ":when=", n)) != 0);
      CHECK(newest_of(folder.path(), identity).position.step >= 6);
      CHECK(checkpoint_files(folder.path()).size() <= 3);
    }
  }
}

}  // namespace hub
