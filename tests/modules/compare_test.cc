// Comparing an output with the one that an example promises.
#include <catch2/catch.hpp>

#include "modules/module.h"

using namespace hub;

TEST_CASE("an output is the wanted one, or the first difference is told") {
  struct Row {
    const char *wanted, *got, *difference;
  };
  const Row rows[] = {
      {R"({"text": "a"})", R"({"text": "a", "more": 1})", ""},
      {"[0.5, 1]", "[0.5009, 1]", ""},
      {"[0.5, 1]", "[0.5011, 1]", "[0]: wanted 0.5, got 0.5011"},
      {"[1, 2]", "[1, 2, 3]", "the output: wanted 2 items, got 3"},
      {R"({"lines": [{"text": "a"}]})", R"({"lines": [{"text": "b"}]})",
       R"(lines[0].text: wanted "a", got "b")"},
      {R"({"score": 1})", "{}", "score: wanted 1, got nothing"},
      {R"({"score": 1})", R"({"score": null})", "score: wanted 1, got null"},
      {R"({"score": 1})", R"({"score": "1"})", R"(score: wanted 1, got "1")"},
      {R"([{"label": "x"}])", R"({"label": "x"})",
       R"(the output: wanted [{"label":"x"}], got {"label":"x"})"},
      {"true", "true", ""},
      {"true", "1", "the output: wanted true, got 1"},
  };
  for (const Row& row : rows) {
    INFO(row.wanted << " and " << row.got);
    CHECK(compare_output(json::parse(row.wanted), json::parse(row.got), 1e-3) == row.difference);
  }
  CHECK(compare_output(1.0, std::nan(""), 1e-3) != "");
}
