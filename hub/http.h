// HTTP for registries: small documents into memory, large files with resume. Proxies as libcurl
// reads them from the environment (http_proxy, https_proxy, NO_PROXY).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/progress.h"
#include "hub/private_file.h"

namespace hub {

struct HttpLimits {
  int retries = 4;  ///< in a row without getting on
  long connect_s = 15;
  long stall_s = 30;  ///< below 100 bytes/s for so long is a failure
  int first_wait_ms = 250, longest_wait_ms = 20'000;
  std::string agent = "hub";
};

class Http {
 public:
  Http(HttpLimits limits, Progress& progress);
  ~Http();

  /// The whole body. Throws refused above `limit` bytes, not_found (404), auth, network, integrity
  /// for a web page.
  std::string get(const std::string& url, uint64_t limit);
  /// Adds to the file until it has its size, beginning where it stands. The digest is the caller's
  /// to check. Throws as get does.
  void download(const std::string& url, PrivateFile& file);

 private:
  struct Answer;
  struct Transfer;
  /// What a body goes to: begin (which may throw Again) comes before the first byte.
  struct Sink {
    std::function<uint64_t()> from;
    std::function<void(const Answer&)> begin;
    std::function<void(std::string_view)> add;
    std::function<void()> end;
  };
  void fetch(const std::string& url, const Sink& sink, uint64_t step);
  void attempt(const std::string& url, const Sink& sink);
  void perform(const std::string& url, Transfer& transfer, uint64_t from);

  HttpLimits limits_;
  Progress& progress_;
  void* handle_ = nullptr;  ///< of libcurl; keeps the connection between requests
};

/// A URL as it may be shown: without user, password and query.
std::string shown_url(const std::string& url);

}  // namespace hub
