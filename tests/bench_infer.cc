// The native side of `scripts/bench infer`. `bench_infer THREADS PACK OUT NETWORK NAME=FILE.npy…`
// opens a network (from PACK where that is there), runs it once, writes its outputs to OUT/<i>.npy
// and prints a JSON line; then it answers each number of runs on standard input with their times.
// `bench_infer THREADS peak` answers the same way with the rates of fused multiply-adds.
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "runtime/burn.h"
#include "runtime/runtime.h"

namespace hub {
namespace {

using json = nlohmann::json;
using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

/// The most memory that this process has held.
double peak_mb() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("VmHWM:", 0) == 0) return std::stod(line.substr(6)) / 1024;
  }
  return 0;
}

void say(const json& line) { std::cout << line.dump() << std::endl; }

/// Answers until standard input ends.
template <typename Run>
void serve(Run&& run) {
  for (int runs = 0; std::cin >> runs;) {
    std::vector<double> times;
    for (int i = 0; i < runs; ++i) times.push_back(run());
    say({{"ms", times}, {"rss_mb", peak_mb()}});
  }
}

void peak() {
  say({{"gflop_a_run", burn() / 1e9}});
  serve([] {
    const auto start = Clock::now();
    burn();
    return ms_since(start);
  });
}

void network(const std::string& pack, const std::string& out, const std::string& path,
             const std::vector<std::string>& words) {
  auto start = Clock::now();
  const SessionOptions options{.device = "cpu", .pack_file = pack, .states = {}};
  std::unique_ptr<Session> session = Session::load(options);
  const bool mapped = session != nullptr;
  if (!mapped) session = std::make_unique<Session>(import_file(path), options);
  const double load = ms_since(start);
  std::vector<Tensor> inputs(session->program().inputs.size());
  for (const std::string& word : words) {
    const size_t equals = word.find('=');
    inputs[session->input_index(word.substr(0, equals))] =
        read_npy(MappedFile::open(word.substr(equals + 1)));
  }
  start = Clock::now();
  const std::vector<Tensor> outputs = session->run(inputs);
  const double first = ms_since(start);
  for (size_t i = 0; i < outputs.size(); ++i) {
    write_file(out + "/" + std::to_string(i) + ".npy", write_npy(outputs[i]));
  }
  say({{"load_ms", load}, {"first_ms", first}, {"mapped", mapped}});
  serve([&] {
    const auto begin = Clock::now();
    session->run(inputs);
    return ms_since(begin);
  });
}

}  // namespace
}  // namespace hub

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  try {
    if (!words.empty()) hub::set_threads(std::stoi(words[0]));
    if (words.size() == 2 && words[1] == "peak") {
      hub::peak();
    } else if (words.size() >= 5) {
      hub::network(words[1], words[2], words[3], {words.begin() + 4, words.end()});
    } else {
      std::fputs("usage: bench_infer THREADS (peak | PACK OUT NETWORK NAME=FILE.npy…)\n", stderr);
      return 2;
    }
  } catch (const std::exception& e) {
    std::fprintf(stderr, "bench_infer: %s\n", e.what());
    return 1;
  }
  return 0;
}
