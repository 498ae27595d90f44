#include "hub/curl.h"

#include "base/error.h"
#include "base/library.h"

namespace hub {
namespace {

Curl load() {
  const Library library("libcurl.so.4", "http and https registries",
                        "install libcurl 7.85 or newer, or use a file: registry");
  decltype(&::curl_global_init) global_init = nullptr;
  Curl curl{};
  library.symbol(global_init, "curl_global_init");
  library.symbol(curl.easy_init, "curl_easy_init");
  library.symbol(curl.easy_cleanup, "curl_easy_cleanup");
  library.symbol(curl.easy_reset, "curl_easy_reset");
  library.symbol(curl.easy_setopt, "curl_easy_setopt");
  library.symbol(curl.easy_perform, "curl_easy_perform");
  library.symbol(curl.easy_getinfo, "curl_easy_getinfo");
  library.symbol(curl.easy_strerror, "curl_easy_strerror");
  if (global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
    fail(Code::unsupported, "libcurl.so.4 does not start");
  return curl;
}

}  // namespace

const Curl& Curl::get() {
  static const Curl curl = load();
  return curl;
}

}  // namespace hub
