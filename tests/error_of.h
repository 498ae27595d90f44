// Checking refusals: the code, and then the message.
#pragma once

#include <catch2/catch.hpp>
#include <string>

#include "base/error.h"

namespace hub {

/// Calls f, which must throw an Error of this code; returns its message.
template <class F>
std::string error_of(Code code, F&& f) {
  try {
    f();
  } catch (const Error& e) {
    CHECK(code_name(e.code()) == code_name(code));
    return e.what();
  }
  FAIL("nothing was thrown; " << code_name(code) << " is wanted");
  return {};
}

}  // namespace hub
