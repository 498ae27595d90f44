#include "cli/peer.h"

#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"

namespace hub {
namespace {

/// Arguments: the ONNX file, the number of threads, the folder, the names of the inputs. It answers
/// each line, a number of runs, with a line of milliseconds, and says "!" and why when it cannot.
constexpr const char* script = R"python(
import os, sys, time
answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)

def say(*words):
    print(*words, file=answers, flush=True)

def timed(f):
    start = time.perf_counter()
    result = f()
    return (time.perf_counter() - start) * 1e3, result

model, threads, folder, names = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4:]
try:
    import numpy as np
    import onnxruntime as ort
except ImportError as e:
    say("! missing", e)
    sys.exit()
try:
    feed = {name: np.load(f"{folder}/in{i}.npy") for i, name in enumerate(names)}
    options = ort.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads, options.log_severity_level = threads, 1, 3
    opened, session = timed(lambda: ort.InferenceSession(model, options, providers=["CPUExecutionProvider"]))
    first, outputs = timed(lambda: session.run(None, feed))
    for i, y in enumerate(outputs):
        np.save(f"{folder}/out{i}.npy", y)
except Exception as e:
    say("!", " ".join(str(e).split()))
    sys.exit()
say(opened, first)
for line in sys.stdin:
    session.run(None, feed)
    say(*(timed(lambda: session.run(None, feed))[0] for _ in range(int(line))))
os._exit(0)
)python";

}  // namespace

Peer::Peer(const std::string& onnx_file, int threads, const std::vector<std::string>& names,
           const std::vector<Tensor>& inputs, std::string folder)
    : folder_(std::move(folder)) {
  for (size_t i = 0; i < inputs.size(); ++i)
    write_file(concat(folder_, "/in", i, ".npy"), write_npy(inputs[i]));
  std::vector<std::string> words = {"python3", "-c", script, onnx_file, std::to_string(threads),
                                    folder_};
  words.insert(words.end(), names.begin(), names.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    fail_errno("cannot talk to", "python3");
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  const int error = ::posix_spawnp(&child_.pid, "python3", &actions, nullptr, argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  child_.socket = ends[0];
  if (error != 0) {
    child_.pid = -1;
    fail(Code::not_found, "--against onnxruntime: python3 of the PATH: ", std::strerror(error));
  }
  const std::vector<double> start = numbers();
  if (start.size() != 2) fail(Code::peer, "onnxruntime's python3 does not answer as it should");
  open_ms_ = start[0];
  first_ms_ = start[1];
}

Peer::Child::~Child() {
  if (socket >= 0) ::close(socket);
  if (pid > 0) ::waitpid(pid, nullptr, 0);
}

Tensor Peer::output(size_t i) const {
  return read_npy(MappedFile::open(concat(folder_, "/out", i, ".npy")));
}

std::vector<double> Peer::run(int runs) {
  say(std::to_string(runs) + "\n");
  return numbers();
}

void Peer::say(std::string_view line) {
  if (::send(child_.socket, line.data(), line.size(), MSG_NOSIGNAL) !=
      static_cast<ssize_t>(line.size()))
    fail(Code::peer, "onnxruntime's python3 has gone");
}

std::vector<double> Peer::numbers() {
  size_t end = 0;
  while ((end = read_.find('\n')) == std::string::npos) {
    char bytes[4096];
    const ssize_t got = ::recv(child_.socket, bytes, sizeof bytes, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) fail(Code::peer, "onnxruntime's python3 has gone");
    read_.append(bytes, static_cast<size_t>(got));
  }
  const std::string line = read_.substr(0, end);
  read_.erase(0, end + 1);
  if (line.starts_with("! missing"))
    fail(Code::not_found, "--against onnxruntime: python3 of the PATH says '",
         printable(std::string_view(line).substr(10)),
         "'; get it with: python3 -m pip install onnxruntime");
  if (line.starts_with("!")) fail(Code::unsupported, "onnxruntime: ", printable(line.substr(2)));
  std::vector<double> all;
  for (std::string_view word : split(line, ' '))
    all.push_back(std::strtod(std::string(word).c_str(), nullptr));
  return all;
}

}  // namespace hub
