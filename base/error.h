// Errors: one type, one small set of codes, one way to throw.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace hub {

/// What went wrong, as a class. The number is also the exit status of the program.
enum class Code {
  usage = 2,         ///< the request itself makes no sense
  not_found = 3,     ///< no such module, version, file
  network = 4,       ///< a registry cannot be reached or broke off
  integrity = 5,     ///< bytes are not the bytes that were promised
  refused = 6,       ///< malformed or unsafe input
  storage = 7,       ///< disk full, read error, no permission
  busy = 8,          ///< somebody else holds what is needed
  auth = 9,          ///< not allowed
  unsupported = 10,  ///< well formed, but not something this program can do
  numeric = 11,      ///< a computation left the numbers (NaN, overflow)
  peer = 12,         ///< another process of the same job was lost
};

/// Stable lower-case name of a code, as printed in JSON: "not-found".
std::string_view code_name(Code code);

class Error : public std::runtime_error {
 public:
  Error(Code code, const std::string& message) : std::runtime_error(message), code_(code) {}
  Code code() const { return code_; }

 private:
  Code code_;
};

namespace detail {
inline void append(std::string& s, std::string_view part) { s += part; }
inline void append(std::string& s, char part) { s += part; }
template <class T>
requires std::is_arithmetic_v<T>
void append(std::string& s, T part) { s += std::to_string(part); }
}  // namespace detail

/// The parts (strings and numbers) one after the other.
template <class... Parts>
std::string concat(const Parts&... parts) {
  std::string s;
  (detail::append(s, parts), ...);
  return s;
}

/// Ends the request: the message names the thing, what was found, what was wanted and the next
/// step.
template <class... Parts>
[[noreturn]] void fail(Code code, const Parts&... parts) {
  throw Error(code, concat(parts...));
}

/// Runs f; an Error on the way out gets "context: " in front of its message.
template <class F>
auto within(std::string_view context, F&& f) -> decltype(f()) {
  try {
    return f();
  } catch (const Error& e) {
    throw Error(e.code(), concat(context, ": ", e.what()));
  }
}

}  // namespace hub
