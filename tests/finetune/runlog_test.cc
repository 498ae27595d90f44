// run.jsonl: its lines, going on after a checkpoint, and the charts made of it.
#include <catch2/catch.hpp>
#include <cmath>

#include "base/file.h"
#include "base/text.h"
#include "finetune/report/run_log.h"
#include "tests/error_of.h"
#include "tests/scratch.h"

using namespace hub;

namespace {

Metrics metrics(double accuracy, double loss) {
  Metrics m;
  m.values = {{"accuracy", accuracy}, {"loss", loss}};
  return m;
}

void run_steps(RunLog& log, int64_t from, int64_t to) {
  for (int64_t s = from; s <= to; ++s) {
    log.step({s, (s + 1) / 2, 1.0 / static_cast<double>(s), 0.5, 200, static_cast<double>(s)});
    if (s % 2 != 0) continue;
    log.eval(s, s / 2, "validation", "accuracy", metrics(0.5, 2));
    log.checkpoint(s, concat("checkpoints/", s));
  }
}

}  // namespace

TEST_CASE("run log: one object a line") {
  const Scratch folder;
  const std::string path = folder.put("run.jsonl", "an older run\n");
  RunLog log(path);
  log.start(0, "x@1.0.0", {{"batch", "16"}, {"note", "\"quoted\"\n"}});
  log.step({1, 1, 0.5, 0.25, 100, 2});
  log.step({2, 1, NAN, 0.25, 100, 3});
  log.eval(2, 1, "validation", "accuracy", metrics(0.75, 1.5));
  log.checkpoint(2, "checkpoints/2");
  log.end(2, "finished", 4);
  CHECK(
      read_file(path) ==
      R"({"event":"start","name":"x@1.0.0","settings":{"batch":"16","note":"\"quoted\"\n"},"step":0}
{"epoch":1,"event":"step","learning_rate":0.25,"loss":0.5,"samples_per_second":100.0,"seconds":2.0,"step":1}
{"epoch":1,"event":"step","learning_rate":0.25,"loss":null,"samples_per_second":100.0,"seconds":3.0,"step":2}
{"epoch":1,"event":"eval","main":"accuracy","set":"validation","step":2,"values":{"accuracy":0.75,"loss":1.5}}
{"event":"checkpoint","path":"checkpoints/2","step":2}
{"event":"end","reason":"finished","seconds":4.0,"step":2}
)");
}

TEST_CASE("run log: a run that goes on ends as the unbroken one") {
  const Scratch folder;
  const std::string whole = folder / "whole", broken = folder / "broken";
  {
    RunLog log(whole);
    run_steps(log, 1, 6);
  }
  const std::string wanted = read_file(whole);
  // Goes on at every checkpoint, from a log that is whole, cut in a line, or lost.
  for (int64_t step : {2, 4, 6}) {
    for (size_t cut : {0, 5, 130}) {
      const std::string past = wanted.substr(0, wanted.size() - (step < 6 ? cut : 0));
      write_file(broken, past + (step < 6 ? "" : R"({"event":"step","step":7,"lo)"));
      {
        RunLog log(broken, step);
        run_steps(log, step + 1, 6);
      }
      CHECK(read_file(broken) == wanted);
    }
  }
  {
    RunLog log(folder / "lost", 4);
    run_steps(log, 5, 6);
  }
  CHECK(wanted.ends_with(read_file(folder / "lost")));
}

TEST_CASE("run log: what comes after the checkpoint of the step is dropped") {
  const Scratch folder;
  const std::string path = folder.put("run.jsonl",
                                      "{\"event\":\"step\",\"step\":1}\n"
                                      "{\"event\":\"checkpoint\",\"step\":1}\n"
                                      "{\"event\":\"eval\",\"step\":1}\n"
                                      "{\"event\":\"end\",\"step\":1}\n");
  RunLog log(path, 1);
  CHECK(read_file(path) ==
        "{\"event\":\"step\",\"step\":1}\n{\"event\":\"checkpoint\",\"step\":1}\n");
}

TEST_CASE("run log: another file is refused and left alone") {
  const Scratch folder;
  for (const char* line :
       {"text", "[]", "{}", R"({"event":"step","step":"1"})", R"({"event":1,"step":1})"}) {
    const std::string path =
        folder.put("run.jsonl", concat("{\"event\":\"step\",\"step\":1}\n", line, "\n"));
    CHECK(error_of(Code::refused, [&] { RunLog log(path, 1); }).starts_with(concat(path, ":2: ")));
    CHECK(error_of(Code::refused, [&] { charts_of_run(path); }).starts_with(concat(path, ":2: ")));
    CHECK(lines(read_file(path)).size() == 2);
  }
}

TEST_CASE("run log: charts") {
  const Scratch folder;
  const std::string path = folder / "run.jsonl";
  RunLog log(path);
  log.start(0, "x", {});
  run_steps(log, 1, 2);
  log.step({3, 2, INFINITY, 0.5, 200, 3});
  const std::vector<Chart> charts = charts_of_run(path);
  REQUIRE(charts.size() == 3);
  using Points = std::vector<std::pair<int64_t, double>>;
  CHECK(charts[0].title == "Loss");
  REQUIRE(charts[0].curves.size() == 2);
  CHECK(charts[0].curves[0].points ==
        Points{{1, 1.0}, {2, 0.5}});  // what is not finite has no point
  CHECK(charts[0].curves[1].name == "validation");
  CHECK(charts[0].curves[1].points == Points{{2, 2.0}});
  CHECK(charts[1].title == "accuracy");
  CHECK(charts[1].curves[0].points == Points{{2, 0.5}});
  CHECK(charts[2].title == "Learning rate");
  CHECK(charts[2].curves[0].points.size() == 3);
}
