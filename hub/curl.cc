#include "hub/curl.h"

#include <dlfcn.h>

#include "base/error.h"

namespace hub {
namespace {

Curl load() {
  constexpr const char* library = "libcurl.so.4";
  void* handle = ::dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* reason = ::dlerror();
    fail(Code::unsupported, "http and https registries need ", library,
         ", which cannot be loaded (", reason == nullptr ? "no reason given" : reason,
         "); install libcurl 4, or use a file: registry");
  }
  auto symbol = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(handle, name));
    if (function == nullptr)
      fail(Code::unsupported, library, " has no ", name, "; install libcurl 7.85 or newer");
  };
  decltype(&::curl_global_init) global_init = nullptr;
  Curl curl{};
  symbol(global_init, "curl_global_init");
  symbol(curl.easy_init, "curl_easy_init");
  symbol(curl.easy_cleanup, "curl_easy_cleanup");
  symbol(curl.easy_reset, "curl_easy_reset");
  symbol(curl.easy_setopt, "curl_easy_setopt");
  symbol(curl.easy_perform, "curl_easy_perform");
  symbol(curl.easy_getinfo, "curl_easy_getinfo");
  symbol(curl.easy_strerror, "curl_easy_strerror");
  if (global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
    fail(Code::unsupported, library, " does not start");
  return curl;
}

}  // namespace

const Curl& Curl::get() {
  static const Curl curl = load();
  return curl;
}

}  // namespace hub
