#include "base/error.h"

#include <catch2/catch.hpp>
#include <set>

#include "tests/error_of.h"

using namespace hub;

TEST_CASE("every code has its own name and number") {
  std::set<std::string_view> names;
  for (int number = 2; number <= 12; ++number) names.insert(code_name(static_cast<Code>(number)));
  CHECK(names.size() == 11);
  CHECK(names.count("error") == 0);
  CHECK(code_name(Code::not_found) == "not-found");
  CHECK(static_cast<int>(Code::refused) == 6);
}

TEST_CASE("fail joins its parts and within puts the context in front") {
  const auto message = error_of(Code::numeric, [] {
    within("layer 3", [] { fail(Code::numeric, "found ", 7, " of ", uint64_t{1} << 40, '!'); });
  });
  CHECK(message == "layer 3: found 7 of 1099511627776!");
  CHECK(within("context", [] { return 5; }) == 5);
}
