#include <catch2/catch.hpp>

#include "hub/manifest.h"
#include "tests/error_of.h"

using namespace hub;
using Catch::Matchers::Contains;

namespace {
std::string repeat(std::string_view s, size_t n) {
  std::string out;
  while (n-- > 0) out += s;
  return out;
}
}  // namespace

TEST_CASE("strict JSON takes what is JSON") {
  CHECK(parse_json(R"({"a": [1, -2.5, true, null, "\u6a21型"], "b": {"a": {}}})")["a"][4] ==
        "模型");
  CHECK(parse_json(R"([{"a": 1}, {"a": 2}, {"b": {"a": 1}, "a": 1}])").size() == 3);
  CHECK(parse_json(repeat("[", 32) + repeat("]", 32)).is_array());
}

TEST_CASE("strict JSON refuses the rest") {
  struct {
    std::string text;
    const char* word;
  } rows[] = {{"", "not valid JSON"},
              {" ", "not valid JSON"},
              {"{", "not valid JSON"},
              {"{} {}", "not valid JSON"},
              {"[1,]", "not valid JSON"},
              {"// x\n{}", "not valid JSON"},
              {"{'a': 1}", "not valid JSON"},
              {"[NaN]", "not valid JSON"},
              {"[Infinity]", "not valid JSON"},
              {"[1e400]", "not valid JSON"},
              {"[-1e400]", "not valid JSON"},
              {"[01]", "not valid JSON"},
              {"[\"\xff\"]", "not valid JSON"},
              {"[\"\xc0\x80\"]", "not valid JSON"},
              {"[\"\\ud800\"]", "not valid JSON"},
              {"[\"a\nb\"]", "not valid JSON"},
              {"\xef\xbb\xbf{}", "byte order mark"},
              {std::string("{}\0", 3), "not valid JSON"},
              {R"({"a": 1, "b": 2, "a": 3})", "key 'a' twice"},
              {R"({"x": {"a": {}, "a": 1}})", "key 'a' twice"},
              {R"([{"a": [{"a": 1}], "a": 2}])", "key 'a' twice"},
              {repeat("[", 33) + repeat("]", 33), "deeper than 32"},
              {repeat("[", 100'000), "deeper than 32"},
              {repeat("{\"a\":", 100'000), "deeper than 32"}};
  for (const auto& row : rows) {
    CAPTURE(row.text.substr(0, 60));
    CHECK_THAT(error_of(Code::refused, [&] { parse_json(row.text); }), Contains(row.word));
  }
  error_of(Code::refused, [] { parse_json(std::string((1 << 20) + 1, ' ')); });
  CHECK_THAT(error_of(Code::refused, [] { parse_json("[1, 2]", 5); }), Contains("at most 5"));
}
