// libcurl as a table of typed functions, loaded on first use. Linking it would make every command
// load its ~30 libraries (TLS, Kerberos, LDAP, …) at start, and only commands that reach a web
// registry need them.
#pragma once

#include <curl/curl.h>

namespace hub {

struct Curl {
  decltype(&::curl_easy_init) easy_init;
  decltype(&::curl_easy_cleanup) easy_cleanup;
  decltype(&::curl_easy_reset) easy_reset;
  decltype(&::curl_easy_setopt) easy_setopt;
  decltype(&::curl_easy_perform) easy_perform;
  decltype(&::curl_easy_getinfo) easy_getinfo;
  decltype(&::curl_easy_strerror) easy_strerror;

  /// Throws Code::unsupported when libcurl is not installed.
  static const Curl& get();
};

}  // namespace hub
