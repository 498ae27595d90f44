#include "hub/http.h"

#include <catch2/catch.hpp>
#include <cstdlib>

#include "tests/error_of.h"
#include "tests/hub/server.h"
#include "tests/hub/tree.h"

using namespace hub;
using Catch::Matchers::Contains;

namespace {

HttpLimits quick(int retries = 2) {
  return {
      .retries = retries, .connect_s = 5, .stall_s = 1, .first_wait_ms = 1, .longest_wait_ms = 5};
}

std::string get(const Server& server, const std::string& target, uint64_t limit = 1000) {
  Silent silent;
  return Http(quick(), silent).get(server.url() + target, limit);
}

Server once(Reply reply) {
  return Server([reply](const Hit&) { return reply; });
}

}  // namespace

TEST_CASE("a small document over HTTP, and what may come instead") {
  struct {
    const char* what;
    Reply reply;
    Code code;
    const char* word;
  } rows[] = {
      {"too long", {.body = std::string(1001, 'x')}, Code::refused, "more than the 1000 bytes"},
      {"endless",
       {.body = std::string(5000, 'x'), .length = false},
       Code::refused,
       "more than the 1000 bytes"},
      {"missing", {.status = 404}, Code::not_found, "404"},
      {"forbidden", {.status = 403}, Code::auth, "403"},
      {"proxy login", {.status = 407}, Code::auth, "proxy"},
      {"teapot", {.status = 418}, Code::network, "418"},
      {"down for good", {.status = 503}, Code::network, "HTTP 503 (3 attempts)"},
      {"web page",
       {.body = "<html>log in</html>", .headers = {"Content-Type: text/html; charset=utf-8"}},
       Code::integrity,
       "web page"},
      {"compressed unasked",
       {.body = "x", .headers = {"Content-Encoding: gzip"}},
       Code::integrity,
       "'gzip'"},
      {"cut short", {.body = "hello", .cut = 3}, Code::network, "attempts"},
      {"redirect to a file",
       {.status = 302, .headers = {"Location: file:///etc/passwd"}},
       Code::network,
       "not followed"},
      {"redirect to gopher",
       {.status = 302, .headers = {"Location: gopher://127.0.0.1/"}},
       Code::network,
       "not followed"},
      {"redirect to nowhere", {.status = 302}, Code::network, "not followed"},
      {"redirect in a circle",
       {.status = 302, .headers = {"Location: /again"}},
       Code::network,
       "more than 5 redirects"},
  };
  for (const auto& row : rows) {
    INFO(row.what);
    const Server server([&](const Hit&) { return row.reply; });
    const std::string message = error_of(row.code, [&] { get(server, "/doc"); });
    CHECK_THAT(message, Contains(row.word) && Contains(server.url()));
  }
}

TEST_CASE("a busy server is asked again, a redirect is followed") {
  int n = 0;
  const Server server([&](const Hit& hit) -> Reply {
    if (hit.target == "/moved") return {.status = 301, .headers = {"Location: /doc"}};
    if (++n < 3) return {.status = n == 1 ? 503 : 429, .headers = {"Retry-After: 0"}};
    return {.body = "hello"};
  });
  CHECK(get(server, "/moved") == "hello");
  CHECK(server.hits().size() == 6);
}

TEST_CASE("nobody listens") {
  std::string url;
  {
    const Server gone = once({});
    url = gone.url();
  }
  Silent silent;
  const auto message =
      error_of(Code::network, [&] { Http(quick(), silent).get(url + "/doc", 10); });
  CHECK_THAT(message, Contains(url) && Contains("connect") && Contains("(2 attempts)"));
}

TEST_CASE("a file arrives whole from a server that misbehaves") {
  const std::string body = noise(64'000), other = noise(64'000, 2);
  const auto tail = [&](const Hit& hit) { return Server::bytes(body, hit); };
  int n = 0;
  struct {
    const char* what;
    std::function<Reply(const Hit&)> handler;
    Code code;  ///< numeric stands for success
    const char* word;
  } rows[] = {
      {"well behaved", tail, Code::numeric, ""},
      {"no length", [&](const Hit&) { return Reply{.body = body, .length = false}; }, Code::numeric,
       ""},
      {"cut at every 16th",
       [&](const Hit& hit) {
         Reply r = tail(hit);
         r.cut = body.size() / 16;
         return r;
       },
       Code::numeric, ""},
      {"cut, and no ranges",
       [&](const Hit&) {
         return Reply{.body = body, .cut = ++n == 1 ? size_t{30'000} : std::string::npos};
       },
       Code::numeric, ""},
      {"another range than asked for",
       [&](const Hit& hit) {
         if (hit.range.empty())
           return Reply{.body = body, .cut = ++n == 1 ? size_t{30'000} : std::string::npos};
         return Reply{.status = 206,
                      .body = body.substr(100),
                      .headers = {"Content-Range: bytes 100-63999/64000"}};
       },
       Code::numeric, ""},
      {"a range of a longer file",
       [&](const Hit& hit) {
         if (hit.range.empty())
           return Reply{.body = body, .cut = ++n == 1 ? size_t{30'000} : std::string::npos};
         return Reply{.status = 206,
                      .body = body,
                      .headers = {concat("Content-Range: bytes ", hit.from, "-93999/94000")}};
       },
       Code::numeric, ""},
      {"no such range",
       [&](const Hit& hit) {
         if (hit.range.empty())
           return Reply{.body = body, .cut = ++n == 1 ? size_t{30'000} : std::string::npos};
         return Reply{.status = 416};
       },
       Code::numeric, ""},
      {"always cut at the same place",
       [&](const Hit&) { return Reply{.body = body, .cut = 30'000}; }, Code::network, "attempts"},
      {"shorter", [&](const Hit&) { return Reply{.body = body.substr(1)}; }, Code::integrity,
       "63999 bytes; 64000"},
      {"empty", [&](const Hit&) { return Reply{}; }, Code::integrity, "0 bytes; 64000"},
      {"longer", [&](const Hit&) { return Reply{.body = body + "x", .length = false}; },
       Code::integrity, "more than the 64000"},
      {"web page",
       [&](const Hit&) { return Reply{.body = "<html>", .headers = {"Content-Type: text/html"}}; },
       Code::integrity, "web page"},
      {"gone", [&](const Hit&) { return Reply{.status = 404}; }, Code::not_found, "404"},
  };
  for (const auto& row : rows) {
    INFO(row.what);
    n = 0;
    const Server server(row.handler);
    const Scratch scratch;
    Recorder said;
    PrivateFile file(scratch.path(), Sha256::of(body), body.size(), "the file");
    Http http(quick(), said);
    INFO(said.notes);
    if (row.code == Code::numeric) {
      http.download(server.url() + "/f", file);
      CHECK(file.matches());
    } else {
      CHECK_THAT(error_of(row.code, [&] { http.download(server.url() + "/f", file); }),
                 Contains(row.word));
    }
  }
}

TEST_CASE("the file changes between two answers") {
  const std::string body = noise(64'000), other = noise(64'000, 2);
  const Server server([&](const Hit& hit) {
    Reply r = Server::bytes(hit.range.empty() ? body : other, hit);
    if (hit.range.empty()) r.cut = 30'000;
    r.headers.push_back(concat("ETag: \"", hit.from, "\""));
    return r;
  });
  const Scratch scratch;
  Silent silent;
  PrivateFile file(scratch.path(), Sha256::of(body), body.size(), "the file");
  Http(quick(), silent).download(server.url() + "/f", file);
  CHECK_FALSE(file.matches());
  CHECK(file.patched());
}

TEST_CASE("the proxy of the environment is used, and NO_PROXY obeyed") {
  const Server proxy = once({.body = "from the proxy"}), origin = once({.body = "from the origin"});
  ::setenv("http_proxy", proxy.url().c_str(), 1);
  ::unsetenv("no_proxy");
  ::unsetenv("NO_PROXY");
  CHECK(get(origin, "/doc") == "from the proxy");
  CHECK(proxy.hits().at(0).target == origin.url() + "/doc");
  ::setenv("NO_PROXY", "127.0.0.1", 1);
  CHECK(get(origin, "/doc") == "from the origin");
  CHECK(proxy.hits().size() == 1);
  ::unsetenv("http_proxy");
  ::unsetenv("NO_PROXY");
}

TEST_CASE("an address is shown without its secrets") {
  CHECK(shown_url("https://me:secret@host/path?token=x#y") == "https://host/path");
  CHECK(shown_url("http://host:80/a@b") == "http://host:80/a@b");
  CHECK(shown_url("http://host/\x1b[2J") == "http://host/\\x1b[2J");
}
