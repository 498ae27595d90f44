// Keeps what is said, one message behind the other.
#pragma once

#include <string>

#include "base/progress.h"

struct Notes final : hub::Progress {
  std::string text;
  void update(std::string_view, uint64_t, uint64_t) override {}
  void note(std::string_view message) override { text += message; }
};
