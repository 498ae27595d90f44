#include "tests/hub/server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <stdexcept>

#include "base/error.h"
#include "base/file.h"

namespace hub {

Server::Server(std::function<Reply(const Hit&)> handler)
    : handler_(std::move(handler)), listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* plain = reinterpret_cast<sockaddr*>(&address);
  socklen_t size = sizeof address;
  if (::bind(listener_, plain, size) != 0 || ::listen(listener_, 64) != 0 ||
      ::getsockname(listener_, plain, &size) != 0) {
    throw std::runtime_error("no test server");
  }
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { serve(); });
}

Server::~Server() {
  ::shutdown(listener_, SHUT_RDWR);
  thread_.join();
  ::close(listener_);
}

std::string Server::url() const { return concat("http://127.0.0.1:", port_); }

std::vector<Hit> Server::hits() const {
  const std::lock_guard lock(mutex_);
  return hits_;
}

uint64_t Server::sent() const {
  const std::lock_guard lock(mutex_);
  return sent_;
}

void Server::forget() {
  const std::lock_guard lock(mutex_);
  hits_.clear();
  sent_ = 0;
}

Reply Server::bytes(const std::string& body, const Hit& hit) {
  if (hit.range.empty()) return {.body = body};
  if (hit.from >= body.size()) return {.status = 416};
  return {.status = 206,
          .body = body.substr(hit.from),
          .headers = {
              concat("Content-Range: bytes ", hit.from, "-", body.size() - 1, "/", body.size())}};
}

Reply Server::file(const std::string& folder, const Hit& hit) {
  const std::string path = folder + hit.target;
  return exists(path) ? bytes(read_file(path), hit) : Reply{.status = 404};
}

void Server::serve() {
  for (;;) {
    const int connection = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (connection < 0) return;
    answer(connection);
    ::close(connection);
  }
}

void Server::answer(int connection) {
  std::string request;
  char buffer[4096];
  while (request.find("\r\n\r\n") == request.npos) {
    const ssize_t n = ::recv(connection, buffer, sizeof buffer, 0);
    if (n <= 0) return;
    request.append(buffer, static_cast<size_t>(n));
  }
  Hit hit;
  const size_t target = request.find(' ') + 1;
  hit.target = request.substr(target, request.find(' ', target) - target);
  if (const size_t at = request.find("Range: bytes="); at != request.npos) {
    hit.range = request.substr(at + 7, request.find('\r', at) - at - 7);
    hit.from = std::stoull(hit.range.substr(6));
  }
  const Reply reply = handler_(hit);
  std::string head = concat("HTTP/1.1 ", reply.status, " Test\r\nConnection: close\r\n");
  bool length = reply.length;
  for (const std::string& line : reply.headers) {
    head += line + "\r\n";
    if (line.starts_with("Content-Length")) length = false;
  }
  if (length) head += concat("Content-Length: ", reply.body.size(), "\r\n");
  const std::string body = reply.body.substr(0, reply.cut);
  {
    const std::lock_guard lock(mutex_);
    hits_.push_back(hit);
    sent_ += body.size();
  }
  const std::string all = head + "\r\n" + body;
  for (size_t at = 0; at < all.size();) {
    const ssize_t n = ::send(connection, all.data() + at, all.size() - at, MSG_NOSIGNAL);
    if (n <= 0) return;
    at += static_cast<size_t>(n);
  }
}

}  // namespace hub
