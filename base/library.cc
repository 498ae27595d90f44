#include "base/library.h"

#include <dlfcn.h>

#include "base/error.h"

namespace hub {

Library::Library(const std::string& file, const std::string& users, const std::string& remedy)
    : file_(file), remedy_(remedy), handle_(::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)) {
  if (handle_ == nullptr) {
    const char* reason = ::dlerror();
    fail(Code::unsupported, users, " need ", file, ", which cannot be loaded (",
         reason == nullptr ? "no reason given" : reason, "); ", remedy);
  }
}

void* Library::find(const char* name) const {
  void* found = ::dlsym(handle_, name);
  if (found == nullptr) fail(Code::unsupported, file_, " has no ", name, "; ", remedy_);
  return found;
}

}  // namespace hub
