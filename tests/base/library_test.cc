#include "base/library.h"

#include <catch2/catch.hpp>

#include "tests/error_of.h"

using namespace hub;

TEST_CASE("libraries are opened by name, and what they lack is said") {
  const Library math("libm.so.6", "numbers", "install libm");
  double (*root)(double) = nullptr;
  math.symbol(root, "sqrt");
  CHECK(root(9.0) == 3.0);
  CHECK(error_of(Code::unsupported, [&] { math.symbol(root, "no_such_root"); }) ==
        "libm.so.6 has no no_such_root; install libm");
  CHECK_THAT(
      error_of(Code::unsupported, [] { Library("libno_such.so.1", "sounds", "install it"); }),
      Catch::StartsWith("sounds need libno_such.so.1, which cannot be loaded (") &&
          Catch::EndsWith("); install it"));
}
