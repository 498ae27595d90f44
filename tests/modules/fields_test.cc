// Reading the keys of a manifest's objects.
#include "modules/fields.h"

#include <catch2/catch.hpp>
#include <functional>
#include <nlohmann/json.hpp>

using namespace hub;

TEST_CASE("keys with their types") {
  const json object = {{"s", "word"},      {"n", 2},         {"x", 0.5},       {"b", true},
                       {"v", {1, 2.5, 3}}, {"p", "a/b.txt"}, {"l", {"a", "b"}}};
  Fields fields(object, "m@1: preprocess");
  CHECK(fields.str("s") == "word");
  CHECK(fields.str("absent", "other") == "other");
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
      {[](Fields& f) { f.str("absent"); }, "m@1: post: 'absent' is missing"},
      {[](Fields& f) { f.str("n"); }, "m@1: post: 'n' is number, wanted a string"},
      {[](Fields& f) {
         f.choice("s", {"a", "b"});
       },
       "m@1: post: 's' is 'word', wanted 'a' or 'b'"},
      {[](Fields& f) { f.integer("x", 0, 9); },
       "m@1: post: 'x' is 0.5, wanted a whole number from 0 to 9"},
      {[](Fields& f) { f.integer("n", 3, 9); },
       "m@1: post: 'n' is 2, wanted a whole number from 3 to 9"},
      {[](Fields& f) { f.integer("big", -9, 9); },
       "m@1: post: 'big' is 18446744073709551615, wanted a whole number from -9 to 9"},
      {[](Fields& f) { f.number("s"); }, "m@1: post: 's' is string, wanted a number"},
      {[](Fields& f) { f.boolean("n"); }, "m@1: post: 'n' is number, wanted true or false"},
      {[](Fields& f) { f.numbers("v", 3); }, "m@1: post: 'v' is not a list of 3 numbers"},
      {[](Fields& f) { f.numbers("w", 2); }, "m@1: post: 'w' holds string, wanted 2 numbers"},
      {[](Fields& f) { f.strings("v"); }, "m@1: post: 'v' holds number, wanted strings"},
      {[](Fields& f) { f.path("up"); },
       "m@1: post: 'up': '../x' is not a path inside a module: a part of it is empty, '.' or '..'"},
      {[](Fields& f) { f.has("s"), f.has("n"), f.done(); },
       "m@1: post: 'big' is not a known key; those are 'n' or 's'"},
  };
  for (const Row& row : rows) {
    Fields fields(object, "m@1: post");
    CHECK_THROWS_WITH(row.read(fields), row.message);
  }
  CHECK_THROWS_WITH(Fields(json::array(), "m@1: post"), "m@1: post: is array, wanted an object");
}
