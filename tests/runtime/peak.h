// How much memory something takes at its peak, as the kernel counts it.
#pragma once

#include <algorithm>
#include <charconv>
#include <fstream>
#include <string>

namespace hub {

/// A line of /proc/self/status in bytes.
inline size_t status_bytes(std::string_view name) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (!line.starts_with(name)) continue;
    size_t kib = 0;
    const char* digits = line.data() + line.find_first_of("0123456789");
    std::from_chars(digits, line.data() + line.size(), kib);
    return kib << 10;
  }
  return 0;
}

/// Bytes by which this process grew at most while f ran. The sanitizers' own memory counts, so the
/// answer is 0 with them.
template <class F>
size_t peak_growth(F&& f) {
  std::ofstream("/proc/self/clear_refs") << "5";  // the peak starts anew
  const size_t before = status_bytes("VmRSS:");
  f();
#ifdef __SANITIZE_ADDRESS__
  return 0;
#else
  return std::max(status_bytes("VmHWM:"), before) - before;
#endif
}

}  // namespace hub
