// Shared libraries that are opened when they are first needed. Linking them would make every
// command load them, and what they load in turn, at start.
#pragma once

#include <string>

namespace hub {

/// Stays open until the program ends.
class Library {
 public:
  /// Throws Code::unsupported "<users> need <file>, which cannot be loaded (…); <remedy>".
  Library(const std::string& file, const std::string& users, const std::string& remedy);
  /// Sets the pointer to the function called so; throws Code::unsupported when there is none.
  template <class F>
  void symbol(F*& function, const char* name) const {
    function = reinterpret_cast<F*>(find(name));
  }

 private:
  void* find(const char* name) const;
  std::string file_, remedy_;
  void* handle_;
};

}  // namespace hub
