#include "hub/http.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <exception>
#include <optional>
#include <thread>

#include "base/error.h"
#include "base/text.h"
#include "hub/curl.h"

namespace hub {
namespace {

constexpr int max_redirects = 5;
constexpr int longest_retry_after_s = 30;

/// Another attempt may help. `retries` bounds how often; `wait_s` is the wish of the server.
struct Again : Error {
  explicit Again(const std::string& reason, int retries_ = 1000, int wait_s_ = 0)
      : Error(Code::network, reason), retries(retries_), wait_s(wait_s_) {}
  int retries, wait_s;
};

std::optional<uint64_t> number(std::string_view text) {
  uint64_t n = 0;
  text = trim(text);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return n;
}

bool is_https(const std::string& url) { return lower_ascii(url.substr(0, 8)) == "https://"; }
bool is_http(const std::string& url) { return lower_ascii(url.substr(0, 7)) == "http://"; }

}  // namespace

std::string shown_url(const std::string& url) {
  std::string shown = url.substr(0, url.find_first_of("?#"));
  const size_t host = shown.find("://");
  if (host == shown.npos) return printable(shown);
  const size_t at = shown.substr(0, shown.find('/', host + 3)).rfind('@');
  if (at != shown.npos) shown.erase(host + 3, at + 1 - (host + 3));
  return printable(shown);
}

/// The head of an answer.
struct Http::Answer {
  long status = 0;
  std::string type, encoding;
  std::optional<uint64_t> length, range_start, range_total;
  int retry_after_s = 0;

  void read_line(std::string_view line) {
    if (line.starts_with("HTTP/")) *this = Answer{};
    const size_t colon = line.find(':');
    if (colon == line.npos) return;
    const std::string key = lower_ascii(trim(line.substr(0, colon)));
    const std::string_view value = trim(line.substr(colon + 1));
    if (key == "content-type") type = lower_ascii(value);
    if (key == "content-encoding") encoding = lower_ascii(value);
    if (key == "content-length") length = number(value);
    if (key == "retry-after") {
      retry_after_s =
          static_cast<int>(std::min<uint64_t>(number(value).value_or(0), longest_retry_after_s));
    }
    if (key == "content-range" && value.starts_with("bytes ")) {
      range_start = number(value.substr(6, value.find('-') - 6));
      range_total = number(value.substr(value.find('/') + 1));
    }
  }
};

/// One request on its way; exceptions must not cross libcurl, so they wait here.
struct Http::Transfer {
  const Curl& curl;
  void* handle;
  const Sink& sink;
  Answer answer;
  bool begun = false;
  std::exception_ptr thrown;

  bool wanted() const { return answer.status == 200 || answer.status == 206; }
  void begin() {
    if (!begun) sink.begin(answer);
    begun = true;
  }

  static size_t on_header(char* data, size_t one, size_t n, void* self) {
    static_cast<Transfer*>(self)->answer.read_line({data, one * n});
    return n;
  }
  static size_t on_body(char* data, size_t one, size_t n, void* self) {
    auto& t = *static_cast<Transfer*>(self);
    t.curl.easy_getinfo(t.handle, CURLINFO_RESPONSE_CODE, &t.answer.status);
    if (!t.wanted()) return n;
    try {
      t.begin();
      t.sink.add({data, one * n});
      return n;
    } catch (...) {
      t.thrown = std::current_exception();
      return n + 1;  // ends the transfer
    }
  }
};

Http::Http(HttpLimits limits, Progress& progress)
    : limits_(std::move(limits)), progress_(progress) {}

Http::~Http() {
  if (handle_ != nullptr) Curl::get().easy_cleanup(handle_);
}

/// Sends the request and follows redirects, by hand: never from https to http, never to another
/// scheme.
void Http::perform(const std::string& url, Transfer& transfer, uint64_t from) {
  const Curl& curl = transfer.curl;
  std::string at = url;
  for (int hop = 0; hop <= max_redirects; ++hop) {
    curl.easy_reset(handle_);
    auto set = [&](CURLoption option, auto value) {
      const CURLcode code = curl.easy_setopt(handle_, option, value);
      if (code != CURLE_OK)
        fail(Code::unsupported, "libcurl refuses a setting (", curl.easy_strerror(code),
             "); install 7.85 or newer");
    };
    set(CURLOPT_URL, at.c_str());
    set(CURLOPT_PROTOCOLS_STR, "http,https");
    set(CURLOPT_FOLLOWLOCATION, 0L);
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_USERAGENT, limits_.agent.c_str());
    set(CURLOPT_CONNECTTIMEOUT, limits_.connect_s);
    set(CURLOPT_LOW_SPEED_LIMIT, 100L);
    set(CURLOPT_LOW_SPEED_TIME, limits_.stall_s);
    set(CURLOPT_BUFFERSIZE, 256L << 10);
    set(CURLOPT_HEADERFUNCTION, &Transfer::on_header);
    set(CURLOPT_HEADERDATA, &transfer);
    set(CURLOPT_WRITEFUNCTION, &Transfer::on_body);
    set(CURLOPT_WRITEDATA, &transfer);
    const std::string range = concat(from, "-");
    if (from > 0) set(CURLOPT_RANGE, range.c_str());
    transfer.answer = {};
    const CURLcode code = curl.easy_perform(handle_);
    if (transfer.thrown) std::rethrow_exception(transfer.thrown);
    curl.easy_getinfo(handle_, CURLINFO_RESPONSE_CODE, &transfer.answer.status);
    switch (code) {
      case CURLE_OK: break;
      case CURLE_COULDNT_RESOLVE_HOST:
      case CURLE_COULDNT_RESOLVE_PROXY:
      case CURLE_COULDNT_CONNECT: throw Again(curl.easy_strerror(code), 1);
      case CURLE_PEER_FAILED_VERIFICATION:
      case CURLE_SSL_CACERT_BADFILE:
        fail(Code::network, shown_url(at), ": its certificate is not trusted here (",
             curl.easy_strerror(code),
             "); when the registry has a CA of its own, add it to the certificates of this system");
      case CURLE_UNSUPPORTED_PROTOCOL:
      case CURLE_URL_MALFORMAT:
        fail(Code::usage, shown_url(at),
             " is not an address this hub can reach: ", curl.easy_strerror(code));
      case CURLE_OPERATION_TIMEDOUT:
        throw Again(concat("no answer, or less than 100 bytes/s for ", limits_.stall_s, " s"));
      default: throw Again(curl.easy_strerror(code));
    }
    if (transfer.answer.status < 300 || transfer.answer.status > 399) return;
    char* target = nullptr;
    curl.easy_getinfo(handle_, CURLINFO_REDIRECT_URL, &target);
    const std::string next = target == nullptr ? "" : target;
    if (!is_https(next) && (is_https(at) || !is_http(next))) {
      fail(Code::network, shown_url(at), ": HTTP ", transfer.answer.status, " sends to '",
           shown_url(next),
           "', which is not followed: only http(s), and never from https to http; correct the "
           "address of the registry");
    }
    at = next;
  }
  fail(Code::network, shown_url(url), ": more than ", max_redirects,
       " redirects; correct the address of the registry");
}

/// One request; returns when the body is complete, throws Again when another attempt may help.
void Http::attempt(const std::string& url, const Sink& sink) {
  Transfer transfer{Curl::get(), handle_, sink, {}, false, nullptr};
  perform(url, transfer, sink.from());
  const long status = transfer.answer.status;
  if (transfer.wanted()) {
    transfer.begin();
    return sink.end();
  }
  const std::string what = concat(shown_url(url), ": HTTP ", status);
  if (status == 416) transfer.begin();
  if (status == 408 || status == 429 || status >= 500)
    throw Again(concat("HTTP ", status), 1000, transfer.answer.retry_after_s);
  if (status == 404 || status == 410)
    fail(Code::not_found, what, ": the registry does not have it");
  if (status == 401 || status == 403 || status == 407) {
    fail(Code::auth, what,
         ": access is refused; check the address of the registry and of the proxy");
  }
  fail(Code::network, what,
       " is not an answer this hub understands; check the address of the registry");
}

void Http::fetch(const std::string& url, const Sink& sink, uint64_t step) {
  if (handle_ == nullptr) handle_ = Curl::get().easy_init();
  uint64_t mark = sink.from();
  int failures = 0;
  for (auto wait = std::chrono::milliseconds(limits_.first_wait_ms);; wait *= 2) {
    try {
      return attempt(url, sink);
    } catch (const Again& again) {
      if (sink.from() >= mark + step) {
        mark = sink.from();
        failures = 0;
        wait = std::chrono::milliseconds(limits_.first_wait_ms);
      }
      if (++failures > std::min(limits_.retries, again.retries)) {
        fail(Code::network, shown_url(url), ": ", again.what(), " (", failures,
             failures == 1 ? " attempt" : " attempts",
             "); check the connection and run the same command again");
      }
      wait = std::min(wait, std::chrono::milliseconds(limits_.longest_wait_ms));
      const auto pause =
          std::max<std::chrono::milliseconds>(wait, std::chrono::seconds(again.wait_s));
      progress_.note(
          concat(shown_url(url), ": ", again.what(), "; trying again in ", pause.count(), " ms"));
      std::this_thread::sleep_for(pause);
    }
  }
}

std::string Http::get(const std::string& url, uint64_t limit) {
  std::string body;
  const Sink sink{
      [] { return 0; },
      [&](const Answer& answer) {
        body.clear();
        if (answer.type.starts_with("text/html")) {
          fail(Code::integrity, shown_url(url),
               ": the server sent a web page, not data; is it the address of a registry, "
               "and does this network ask to log in first?");
        }
        if (!answer.encoding.empty() && answer.encoding != "identity") {
          fail(Code::integrity, shown_url(url), ": the server sent '", answer.encoding,
               "', which was not asked for");
        }
      },
      [&](std::string_view bytes) {
        if (body.size() + bytes.size() > limit) {
          fail(Code::refused, shown_url(url), " holds more than the ", limit,
               " bytes that are read of such a document");
        }
        body += bytes;
      },
      [] {}};
  fetch(url, sink, 1);
  return body;
}

void Http::download(const std::string& url, PrivateFile& file) {
  if (file.done() == file.size() && file.size() > 0) return;
  const Sink sink{
      [&] { return file.done(); },
      [&](const Answer& answer) {
        if (answer.status == 416 || (answer.status == 200 && file.done() > 0)) file.restart();
        if (answer.status == 416) throw Again("HTTP 416: the server does not have that range");
        const auto whole = answer.status == 200 ? answer.length : answer.range_total;
        const bool page = answer.type.starts_with("text/html") && whole != file.size();
        if (answer.status == 206 && !page) {
          if (answer.range_start != file.done() || (whole && whole != file.size())) {
            file.restart();
            throw Again("the server sent another range than was asked for");
          }
          if (file.done() > 0) file.mark_patched();
        } else if (page || (whole && whole != file.size())) {
          fail(Code::integrity, shown_url(url),
               page ? ": the server sent a web page, not the file"
                    : ": the server sent another file",
               whole ? concat(" (", *whole, " bytes") : std::string(" ("), whole ? "; " : "",
               file.size(),
               " are wanted); is it the address of a registry, and does this network ask to log in "
               "first?");
        }
      },
      [&](std::string_view bytes) { file.add(bytes); },
      [&] {
        if (file.done() < file.size())
          throw Again(concat("the answer ended at ", file.done(), " of ", file.size(), " bytes"));
      }};
  fetch(url, sink, std::max<uint64_t>(1, std::min<uint64_t>(file.size() / 16, 1 << 20)));
}

}  // namespace hub
