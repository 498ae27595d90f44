// hub bench
#include <malloc.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>
#include <thread>

#include "base/error.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/network.h"
#include "cli/output.h"
#include "cli/peer.h"
#include "cli/terminal.h"
#include "cli/times.h"

namespace hub {
namespace {

/// Runs are taken in so many bursts, so that hub and its peer meet the same weather.
constexpr int rounds = 5;

/// Removed with all that is in it.
class TemporaryFolder {
 public:
  TemporaryFolder()
      : path_((std::filesystem::temp_directory_path() / "hub-bench-XXXXXX").string()) {
    if (::mkdtemp(path_.data()) == nullptr) fail_errno("cannot create", path_);
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// Milliseconds until a network is open, and of its first run.
struct Start {
  double open = 0, first = 0;
};

struct Setting {
  int64_t batch = 0;
  int threads = 0;
  size_t runs = 0;
  Times hub;
  double peak_mb = 0;
  Start peer_start;
  Times peer;
  double difference = 0;
};

/// The most memory that this process has held since forget_peak().
double peak_mb() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("VmHWM:", 0) == 0) return std::atof(line.c_str() + 6) / 1024;
  }
  return 0;
}

void forget_peak() {
  ::malloc_trim(0);
  std::ofstream("/proc/self/clear_refs") << "5";
}

/// The rows of `t` over and over until there are `rows`.
Tensor with_rows(const Tensor& t, int64_t rows, const std::string& name) {
  Shape shape = t.shape();
  if (shape.rank() == 0 || shape[0] == 0 || !is_plain(t.dtype()))
    fail(Code::usage, "--batch: input '", name, "' ", t.spec().str(), " has no rows to repeat");
  const size_t row = t.bytes() / static_cast<size_t>(shape[0]);
  shape[0] = rows;
  Tensor out(t.dtype(), shape);
  for (int64_t i = 0; i < rows; ++i) {
    std::memcpy(
        static_cast<std::byte*>(out.raw()) + static_cast<size_t>(i) * row,
        static_cast<const std::byte*>(t.raw()) + static_cast<size_t>(i % t.shape()[0]) * row, row);
  }
  return out;
}

/// The inputs with `batch` in the first dimension of those that leave it open.
std::vector<Tensor> batched(const Program& p, const std::vector<Tensor>& inputs, int batch) {
  std::vector<Tensor> out = inputs;
  bool any = false;
  for (size_t i = 0; i < out.size(); ++i) {
    const Value& v = p[p.inputs[i]];
    if (v.declared.shape.rank() == 0 || v.declared.shape[0] >= 0) continue;
    out[i] = with_rows(inputs[i], batch, v.name);
    any = true;
  }
  if (!any) fail(Code::usage, "--batch: every input of this network has a fixed first dimension");
  return out;
}

int64_t rows_of(const std::vector<Tensor>& inputs) {
  return inputs.empty() || inputs[0].shape().rank() == 0 ? 1 : inputs[0].shape()[0];
}

/// The largest difference of any number of the outputs.
double largest_difference(const std::vector<Tensor>& outputs, const Peer& peer) {
  double most = 0;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!is_plain(outputs[i].dtype())) continue;
    const Tensor other = peer.output(i);
    if (!(other.shape() == outputs[i].shape())) return std::numeric_limits<double>::infinity();
    const std::vector<float> a = outputs[i].to_floats();
    const std::vector<float> b = other.to_floats();
    for (size_t k = 0; k < a.size(); ++k) {
      const bool same = a[k] == b[k] || (std::isnan(a[k]) && std::isnan(b[k]));
      const double gap = same ? 0 : std::fabs(static_cast<double>(a[k]) - b[k]);
      if (!(gap <= most)) most = std::isnan(gap) ? std::numeric_limits<double>::infinity() : gap;
    }
  }
  return most;
}

class Bench {
 public:
  Bench(const Args& args, Context& context)
      : args_(args),
        context_(context),
        network_(args, context, "cpu"),
        against_(!args.list("--against").empty()) {
    if (against_ && args.text("--against") != "onnxruntime")
      fail(Code::usage, "--against is '", printable(args.text("--against")),
           "'; onnxruntime is wanted");
    if (!args.list("--runs").empty()) runs_ = args.number("--runs", 1);
    if (against_) onnx_ = network_.onnx_file(folder_.path());
  }

  void run() {
    std::vector<int> threads_list = args_.numbers("--threads", 0);
    const std::vector<int> batches = args_.numbers("--batch", 1);
    set_threads(threads_list.at(0));
    open();
    for (int count : threads_list) {
      set_threads(count);
      if (batches.empty()) measure(inputs_);
      for (int batch : batches) measure(batched(session_->program(), inputs_, batch));
    }
    context_.terminal.print(context_.json_output ? json_line(as_json()) : text());
  }

 private:
  /// Without a packed plan, which that leaves, then with it.
  void open() {
    const SessionOptions options{"cpu", folder_.path() + "/network.plan", {}};
    cold_.open = ms_of([&] { session_ = std::make_unique<Session>(network_.program(), options); });
    inputs_ = given_inputs(args_, *session_);
    make_up_inputs(args_, *session_, inputs_);
    cold_.first = ms_of([&] { session_->run(inputs_); });
    session_.reset();
    forget_peak();
    mapped_.open = ms_of([&] { session_ = Session::load(options); });
    if (!session_) fail(Code::storage, "the packed plan in ", folder_.path(), " cannot be used");
    mapped_.first = ms_of([&] { session_->run(inputs_); });
  }

  void measure(const std::vector<Tensor>& inputs) {
    Setting s;
    s.batch = rows_of(inputs);
    s.threads = threads();
    const std::vector<Tensor> outputs = session_->run(inputs);
    std::optional<Peer> peer;
    if (against_) {
      std::vector<std::string> names;
      const Program& p = session_->program();
      for (ValueId id : p.inputs) names.push_back(p[id].name);
      peer.emplace(onnx_, s.threads, names, inputs, folder_.path());
      s.peer_start = {peer->open_ms(), peer->first_ms()};
      s.difference = largest_difference(outputs, *peer);
    }
    const double once = ms_of([&] { session_->run(inputs); });
    const int runs = runs_ > 0 ? runs_ : std::clamp(static_cast<int>(1000 / once), rounds, 500);
    std::vector<double> hub_ms, peer_ms;
    forget_peak();
    for (int r = 0; r < rounds; ++r) {
      const int burst = runs / rounds + (r < runs % rounds ? 1 : 0);
      if (burst == 0) break;
      calm();
      session_->run(inputs);
      for (int i = 0; i < burst; ++i) hub_ms.push_back(ms_of([&] { session_->run(inputs); }));
      if (!peer) continue;
      calm();
      const std::vector<double> more = peer->run(burst);
      peer_ms.insert(peer_ms.end(), more.begin(), more.end());
    }
    s.runs = hub_ms.size();
    s.hub = Times(hub_ms);
    s.peer = Times(peer_ms);
    s.peak_mb = peak_mb();
    settings_.push_back(s);
  }

  /// The threads of whoever ran before go on looking for work for a moment.
  static void calm() { std::this_thread::sleep_for(std::chrono::milliseconds(20)); }

  static double per_second(const Setting& s) {
    return 1e3 * static_cast<double>(s.batch) / s.hub.median;
  }

  std::string text() const {
    std::vector<std::vector<std::string>> rows = {
        {"batch", "threads", "runs", "median ms", "min ms", "p90 ms", "a second", "peak MB"}};
    if (against_) {
      for (const char* title : {"onnxruntime median ms", "min ms", "opens ms", "onnxruntime / hub",
                                "largest difference"})
        rows[0].emplace_back(title);
    }
    for (const Setting& s : settings_) {
      rows.push_back({std::to_string(s.batch), std::to_string(s.threads), std::to_string(s.runs),
                      fixed(s.hub.median, 3), fixed(s.hub.min, 3), fixed(s.hub.p90, 3),
                      fixed(per_second(s), 1), fixed(s.peak_mb, 1)});
      if (!against_) continue;
      for (const std::string& cell :
           {fixed(s.peer.median, 3), fixed(s.peer.min, 3), fixed(s.peer_start.open, 1),
            fixed(s.peer.median / s.hub.median, 2), short_number(s.difference)})
        rows.back().push_back(cell);
    }
    auto start = [](const Start& s) {
      return concat(fixed(s.open, 1), " ms to open and ", fixed(s.first, 1),
                    " ms for the first run");
    };
    return concat(printable(network_.title()), ": first start ", start(cold_),
                  "; with its packed plan ", start(mapped_), "\n", table_text(rows));
  }

  json as_json() const {
    auto start = [](const Start& s) { return json{{"open_ms", s.open}, {"first_ms", s.first}}; };
    auto times = [](const Times& t) {
      return json{{"median_ms", t.median}, {"min_ms", t.min}, {"p90_ms", t.p90}};
    };
    json settings = json::array();
    for (const Setting& s : settings_) {
      json line = times(s.hub);
      line.update({{"batch", s.batch},
                   {"threads", s.threads},
                   {"runs", s.runs},
                   {"per_second", per_second(s)},
                   {"peak_mb", s.peak_mb}});
      if (against_) {
        json peer = times(s.peer);
        peer.update(start(s.peer_start));
        peer.update({{"ratio", s.peer.median / s.hub.median}, {"difference", s.difference}});
        line["onnxruntime"] = peer;
      }
      settings.push_back(line);
    }
    return {{"network", network_.title()},
            {"cold", start(cold_)},
            {"mapped", start(mapped_)},
            {"settings", settings}};
  }

  const Args& args_;
  Context& context_;
  Network network_;
  bool against_;
  int runs_ = 0;  ///< 0: as many as fit in a second
  TemporaryFolder folder_;
  std::string onnx_;
  std::unique_ptr<Session> session_;
  std::vector<Tensor> inputs_;
  Start cold_, mapped_;
  std::vector<Setting> settings_;
};

int run(const Args& args, Context& context) {
  Bench(args, context).run();
  return 0;
}

}  // namespace

extern const Command bench_command{
    "bench",
    "Times a network: latency, throughput, start and memory",
    "A bare name is a module; a file has a '/' or a '.' in it (./NAME). Inputs that --in does not "
    "give\n"
    "are made up as 'hub profile' does. With --against, bursts of both take turns on the same "
    "inputs.",
    {{"source", "text", "a module or a network file", "", true},
     {"--in", "list", "NAME=FILE.npy; FILE.npy when there is one input"},
     {"--shape", "list", "NAME=1x3x224x224, of an input that is made up"},
     {"--network", "text", "which of the module's networks"},
     {"--batch", "list", "sizes of the first dimension, where inputs leave it open"},
     {"--threads", "list", "numbers of threads; 0 means one a processor", "0"},
     {"--runs", "text", "runs of each setting; as many as fit in a second when it is left out"},
     {"--against", "text", "onnxruntime, of the python3 in PATH, on the same ONNX file"},
     {"--json", "flag", "one JSON object with all settings"}},
    run};

}  // namespace hub
