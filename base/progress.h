// Progress and messages, handed down by the caller: libraries never print.
#pragma once

#include <cstdint>
#include <string_view>

namespace hub {

struct Progress {
  virtual ~Progress() = default;
  /// `done` of `total` bytes (or items) of `what`; total 0 means unknown.
  virtual void update(std::string_view what, uint64_t done, uint64_t total) = 0;
  /// One line for a person: a warning, or what is happening now.
  virtual void note(std::string_view message) = 0;
};

/// Says nothing.
struct Silent final : Progress {
  void update(std::string_view, uint64_t, uint64_t) override {}
  void note(std::string_view) override {}
};

}  // namespace hub
