// A small HTTP server on 127.0.0.1 that can behave badly in all the ways that downloads meet.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace hub {

struct Hit {
  std::string target;  ///< as the request line says, a whole URL when it came to a proxy
  std::string range;   ///< value of the Range header, or ""
  uint64_t from = 0;   ///< first byte the range asks for
};

struct Reply {
  int status = 200;
  std::string body = {};
  std::vector<std::string> headers =
      {};  ///< whole lines; Content-Length is added unless there is one or `length` is false
  size_t cut = std::string::npos;  ///< closes the connection after so many bytes of the body
  bool length = true;
};

class Server {
 public:
  explicit Server(std::function<Reply(const Hit&)> handler);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  std::string url() const;
  /// Requests so far.
  std::vector<Hit> hits() const;
  /// Bytes of bodies sent so far.
  uint64_t sent() const;
  void forget();

  /// The file at `target` below the folder, with ranges; 404 when there is none.
  static Reply file(const std::string& folder, const Hit& hit);
  /// The answer to a (range) request for these bytes.
  static Reply bytes(const std::string& body, const Hit& hit);

 private:
  void serve();
  void answer(int connection);

  std::function<Reply(const Hit&)> handler_;
  int listener_ = -1;
  int port_ = 0;
  mutable std::mutex mutex_;
  std::vector<Hit> hits_;
  uint64_t sent_ = 0;
  std::thread thread_;
};

}  // namespace hub
