#include "modules/espeak.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <mutex>

#include "base/error.h"
#include "base/file.h"
#include "base/library.h"
#include "base/text.h"

namespace hub {
namespace {

constexpr std::string_view finished = "finished\n";

/// Three functions of espeak-ng/speak_lib.h, and the voice that is set.
struct Espeak {
  int (*initialize)(int output, int buffer, const char* path, int options) = nullptr;
  int (*set_voice)(const char* name) = nullptr;
  const char* (*to_phonemes)(const void** text, int encoding, int form) = nullptr;
  std::string voice;

  void start() {
    const Library library("libespeak-ng.so.1", "phonemes",
                          "install eSpeak NG (Debian: libespeak-ng1)");
    library.symbol(initialize, "espeak_Initialize");
    library.symbol(to_phonemes, "espeak_TextToPhonemes");
    constexpr int synchronous = 2, do_not_exit = 0x8000;
    if (initialize(synchronous, 0, nullptr, do_not_exit) < 0)
      fail(Code::unsupported,
           "eSpeak NG does not start; install its data (Debian: espeak-ng-data)");
    library.symbol(set_voice, "espeak_SetVoiceByName");
  }

  void use(const std::string& name) {
    if (set_voice == nullptr) start();
    if (voice == name) return;
    voice.clear();
    if (set_voice(name.c_str()) != 0) {
      fail(Code::unsupported, "eSpeak NG has no voice '", printable(name),
           "'; 'espeak-ng --voices' lists those it has");
    }
    voice = name;
  }
};

void write_all(int to, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(to, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) ::_exit(1);
    bytes.remove_prefix(static_cast<size_t>(n));
  }
}

/// What the child does: a line a clause, then `finished`.
[[noreturn]] void speak(const Espeak& espeak, const std::string& text, int to) {
  for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGABRT, SIGALRM, SIGPIPE, SIGTERM, SIGINT})
    ::signal(number, SIG_DFL);
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
  ::alarm(60);
  const char* const begin = text.c_str();
  size_t before = 0;
  for (const void* at = begin; at != nullptr;) {
    constexpr int utf8 = 1, alphabet = 2;
    const char* found = espeak.to_phonemes(&at, utf8, alphabet);
    const size_t end =
        at == nullptr ? text.size() : static_cast<size_t>(static_cast<const char*>(at) - begin);
    if (end <= before || end > text.size()) ::_exit(1);
    before = end;
    std::string line = concat(end, " ", found == nullptr ? "" : found);
    std::replace(line.begin(), line.end(), '\n', ' ');
    write_all(to, line + '\n');
  }
  write_all(to, finished);
  ::_exit(0);
}

class Child {
 public:
  Child(Espeak& espeak, const std::string& text) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) fail_errno("cannot make", "a pipe");
    pid_ = ::fork();
    if (pid_ == 0) speak(espeak, text, ends[1]);
    ::close(ends[1]);
    from_ = ends[0];
    if (pid_ < 0) {
      ::close(from_);
      fail_errno("cannot start", "a process for eSpeak NG");
    }
  }
  ~Child() {
    ::close(from_);
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  /// All that the child wrote.
  std::string read(size_t most) const {
    std::string all;
    while (!all.ends_with(finished) && all.size() <= most) {
      char bytes[1 << 14];
      const ssize_t n = ::read(from_, bytes, sizeof bytes);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) break;
      all.append(bytes, static_cast<size_t>(n));
    }
    return all;
  }

 private:
  pid_t pid_ = -1;
  int from_ = -1;
};

}  // namespace

std::vector<SpokenClause> espeak_clauses(const std::string& text, const std::string& voice) {
  static std::mutex one;
  static Espeak espeak;
  std::unique_lock lock(one);
  espeak.use(voice);
  const Child child(espeak, text);
  lock.unlock();
  const std::string answer = child.read(4096 + 256 * text.size());
  if (!answer.ends_with(finished))
    fail(Code::refused, "eSpeak NG cannot read this text; it stops after ",
         std::count(answer.begin(), answer.end(), '\n'), " clauses");
  std::vector<SpokenClause> clauses;
  for (const std::string_view line :
       lines(std::string_view(answer).substr(0, answer.size() - finished.size()))) {
    SpokenClause& clause = clauses.emplace_back();
    const char* last = line.data() + line.size();
    const char* space = std::from_chars(line.data(), last, clause.end).ptr;
    if (space != last) clause.phonemes.assign(space + 1, last);
  }
  return clauses;
}

}  // namespace hub
