// What a person sees: data on standard output, messages and a progress bar on standard error. Any
// thread may speak.
#pragma once

#include <chrono>
#include <mutex>
#include <string>
#include <string_view>

#include "base/progress.h"

namespace hub {

class Terminal final : public Progress {
 public:
  Terminal();
  /// A bar when standard error is a terminal, nothing otherwise.
  void update(std::string_view what, uint64_t done, uint64_t total) override;
  void note(std::string_view message) override;
  /// A line that the next one takes the place of, when standard error is a terminal.
  void status(std::string_view line);
  /// Data.
  void print(std::string_view text);
  /// "hub: message" on standard error.
  void complain(std::string_view message);

 private:
  void clear_bar();
  std::mutex mutex_;
  bool bar_wanted_ = false;
  bool bar_shown_ = false;
  std::string bar_what_;
  std::chrono::steady_clock::time_point bar_began_, bar_last_;
};

}  // namespace hub
