#include "cli/terminal.h"

#include <unistd.h>

#include <cstdio>

#include "base/error.h"
#include "base/text.h"

namespace hub {

Terminal::Terminal() : bar_wanted_(::isatty(STDERR_FILENO) == 1) {}

void Terminal::clear_bar() {
  if (!bar_shown_) return;
  std::fputs("\r\x1b[K", stderr);
  bar_shown_ = false;
}

void Terminal::update(std::string_view what, uint64_t done, uint64_t total) {
  if (!bar_wanted_) return;
  const std::lock_guard lock(mutex_);
  const auto now = std::chrono::steady_clock::now();
  if (what != bar_what_) {
    bar_what_ = what;
    bar_began_ = now;
  } else if (done < total && now - bar_last_ < std::chrono::milliseconds(100)) {
    return;
  }
  bar_last_ = now;
  if (done >= total && total > 0) {
    clear_bar();
    return;
  }
  constexpr int width = 30;
  const double share = total > 0 ? static_cast<double>(done) / static_cast<double>(total) : 0;
  const double seconds = std::chrono::duration<double>(now - bar_began_).count();
  const double rate = seconds > 0.2 ? static_cast<double>(done) / seconds : 0;
  std::string bar(static_cast<size_t>(share * width), '#');
  bar.resize(width, '.');
  std::string left;
  if (rate > 0 && total > done) {
    left = concat(", ", static_cast<uint64_t>(static_cast<double>(total - done) / rate), " s left");
  }
  std::fprintf(stderr, "\r\x1b[K%s [%s] %.1f of %.1f MB, %.1f MB/s%s", printable(what).c_str(),
               bar.c_str(), static_cast<double>(done) / 1e6, static_cast<double>(total) / 1e6,
               rate / 1e6, left.c_str());
  bar_shown_ = true;
}

void Terminal::status(std::string_view line) {
  const std::lock_guard lock(mutex_);
  const auto now = std::chrono::steady_clock::now();
  if (!bar_wanted_ || now - bar_last_ < std::chrono::milliseconds(100)) return;
  bar_last_ = now;
  std::fprintf(stderr, "\r\x1b[K%s", printable(line).c_str());
  bar_shown_ = true;
}

void Terminal::note(std::string_view message) { complain(message); }

void Terminal::complain(std::string_view message) {
  const std::lock_guard lock(mutex_);
  clear_bar();
  std::fprintf(stderr, "hub: %s\n", printable(message).c_str());
}

void Terminal::print(std::string_view text) {
  const std::lock_guard lock(mutex_);
  clear_bar();
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) {
    fail(Code::storage, "cannot write to standard output");
  }
}

}  // namespace hub
