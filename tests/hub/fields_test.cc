// Reading the keys of a manifest's objects.
#include "hub/fields.h"

#include <catch2/catch.hpp>
#include <functional>
#include <nlohmann/json.hpp>

#include "hub/manifest.h"
#include "tests/error_of.h"

using namespace hub;

TEST_CASE("keys with their types") {
  const json object = {{"s", "word"},      {"n", 2},         {"x", 0.5},       {"b", true},
                       {"v", {1, 2.5, 3}}, {"p", "a/b.txt"}, {"l", {"a", "b"}}};
  Fields fields(object, "m@1: preprocess");
  CHECK(fields.text("s") == "word");
  CHECK(fields.text("absent", "other") == "other");
  CHECK(fields.choice("s", {"word", "text"}) == "word");
  CHECK(fields.integer("n", 1, 2) == 2);
  CHECK(fields.integer("absent", 1, 2, 7) == 7);
  CHECK(fields.number("x") == 0.5);
  CHECK(fields.number("n") == 2);
  CHECK(fields.boolean("b"));
  CHECK(fields.boolean("absent", true));
  CHECK(fields.numbers("v", 3) == std::vector<double>{1, 2.5, 3});
  CHECK(fields.strings("l") == std::vector<std::string>{"a", "b"});
  CHECK(fields.strings("absent").empty());
  CHECK(fields.path("p").str() == "a/b.txt");
  CHECK_NOTHROW(fields.done());
}

TEST_CASE("what is wrong is refused by module and key") {
  const json object = {{"s", "word"},
                       {"n", 2},
                       {"x", 0.5},
                       {"up", "../x"},
                       {"v", {1, 2}},
                       {"w", {1, "2"}},
                       {"big", 18446744073709551615U}};
  struct Row {
    std::function<void(Fields&)> read;
    std::string message;
  };
  const std::vector<Row> rows = {
      {[](Fields& f) { f.text("absent"); }, "m@1: post: 'absent' is missing"},
      {[](Fields& f) { f.text("n"); }, "m@1: post: 'n' is 2; text is wanted"},
      {[](Fields& f) {
         f.choice("s", {"a", "b"});
       },
       "m@1: post: 's' is 'word'; 'a' or 'b' is wanted"},
      {[](Fields& f) { f.integer("x", 0, 9); },
       "m@1: post: 'x' is 0.5; a whole number from 0 to 9 is wanted"},
      {[](Fields& f) { f.integer("n", 3, 9); },
       "m@1: post: 'n' is 2; a whole number from 3 to 9 is wanted"},
      {[](Fields& f) { f.integer("big", -9, 9); },
       "m@1: post: 'big' is 18446744073709551615; a whole number from -9 to 9 is wanted"},
      {[](Fields& f) { f.number("s"); }, "m@1: post: 's' is \"word\"; a number is wanted"},
      {[](Fields& f) { f.boolean("n"); }, "m@1: post: 'n' is 2; true or false is wanted"},
      {[](Fields& f) { f.numbers("v", 3); }, "m@1: post: 'v' is array; a list of 3 numbers is wanted"},
      {[](Fields& f) { f.numbers("w", 2); }, "m@1: post: 'w' is array; a list of 2 numbers is wanted"},
      {[](Fields& f) { f.strings("v"); }, "m@1: post: 'v' is array; a list of texts is wanted"},
      {[](Fields& f) { f.path("up"); },
       "m@1: post: 'up': '../x' is not a path inside a module: a part of it is empty, '.' or '..'"},
      {[](Fields& f) { f.any("s"), f.any("n"), f.done(); },
       "m@1: post: unknown key 'big'; known here: 'n' or 's'"},
  };
  for (const Row& row : rows) {
    Fields fields(object, "m@1: post");
    CHECK_THROWS_WITH(row.read(fields), row.message);
  }
  CHECK_THROWS_WITH(Fields(json::array(), "m@1: post"), "m@1: post is array; an object is wanted");
}

TEST_CASE("members are read by kind and strangers are refused") {
  const json object =
      parse_json(R"({"s": "text", "n": 7, "big": 18446744073709551616, "neg": -1, "half": 0.5,
                                     "esc": "\u001b[2J", "o": {"k": 1}, "l": [1, 2], "nul": null})");
  Fields f(object, "here");
  CHECK(f.text("s") == "text");
  CHECK(f.text("none", "x") == "x");
  CHECK(f.integer("n", 0, 7) == 7);
  CHECK(f.number("half", 9) == 0.5);
  CHECK(f.number("none", 9) == 9);
  CHECK(f.object("o").size() == 1);
  CHECK(f.object_or_empty("none").empty());
  CHECK(f.list("l", 2).size() == 2);
  CHECK(f.list("none", 2).empty());
  CHECK_THAT(error_of(Code::refused, [&] { f.done(); }), Catch::Contains("here: unknown key 'big'"));
  CHECK_THAT(error_of(Code::refused, [&] { f.text("none"); }), Catch::Contains("'none' is missing"));
  CHECK_THAT(error_of(Code::refused, [&] { f.text("n"); }), Catch::Contains("here: 'n' is 7; text"));
  CHECK_THAT(error_of(Code::refused, [&] { f.text("esc"); }), Catch::Contains("control characters"));
  CHECK_THAT(error_of(Code::refused, [&] { f.text("nul"); }), Catch::Contains("'nul' is null"));
  for (const char* key : {"s", "big", "neg", "half", "o", "nul"}) {
    error_of(Code::refused, [&] { f.integer(key, 0, INT64_MAX); });
  }
  error_of(Code::refused, [&] { f.integer("n", 0, 6); });
  error_of(Code::refused, [&] { f.list("l", 1); });
  error_of(Code::refused, [&] { f.list("o", 1); });
  error_of(Code::refused, [&] { f.object("l"); });
  f.any("big");
  f.done();
  error_of(Code::refused, [&] { Fields(object["l"], "there"); });
}
