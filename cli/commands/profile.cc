// hub profile
#include <map>
#include <numeric>

#include "base/error.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/network.h"
#include "cli/output.h"
#include "cli/terminal.h"
#include "cli/times.h"

namespace hub {
namespace {

/// A profile with what it is held against.
struct Report {
  std::string title;
  std::vector<std::string> inputs;  ///< "x float32[1, 3, 224, 224]"
  Profile profile;
  Session::Memory memory;
  double ms = 0, flops = 0;  ///< of all steps
};

/// The cells of a time with its arithmetic: ms, share, GFLOP, GFLOP/s, share of the peak.
std::vector<std::string> cells(const Report& r, double ms, double flops) {
  std::vector<std::string> row = {fixed(ms, 4), fixed(100 * ms / r.ms, 1) + " %"};
  if (flops == 0) return row.insert(row.end(), {"", "", ""}), row;
  const double rate = flops / ms * 1e3;
  row.insert(row.end(), {fixed(flops / 1e9, 4), fixed(rate / 1e9, 1),
                         fixed(100 * rate / r.profile.peak, 0) + " %"});
  return row;
}

void add(std::vector<std::string>& row, const std::vector<std::string>& more) {
  row.insert(row.end(), more.begin(), more.end());
}

/// The slowest `top` steps; 0: all.
std::string step_table(const Report& r, size_t top) {
  const auto& steps = r.profile.steps;
  std::vector<size_t> order(steps.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return steps[a].ms > steps[b].ms; });
  if (top > 0 && top < order.size()) order.resize(top);
  std::vector<std::vector<std::string>> rows = {{"step", "operator", "shape", "implementation",
                                                 "best ms", "share", "GFLOP", "GFLOP/s", "of peak",
                                                 "why no better one"}};
  for (size_t i : order) {
    const StepTime& s = steps[i];
    std::vector<std::string> row = {std::to_string(i), s.op, s.shape.str(), s.how};
    add(row, cells(r, s.ms, s.flops));
    row.push_back(printable(s.why));
    rows.push_back(std::move(row));
  }
  std::string text = table_text(rows);
  if (order.size() < steps.size())
    text += concat("the ", order.size(), " slowest of ", steps.size(), " steps; --top 0 for all\n");
  return text;
}

std::string kind_table(const Report& r) {
  struct Sum {
    std::string kind;
    size_t steps = 0;
    double ms = 0, flops = 0;
  };
  std::map<std::string, Sum> sums;
  for (const StepTime& s : r.profile.steps) {
    Sum& sum = sums[concat(s.op, " (", s.how, ")")];
    ++sum.steps;
    sum.ms += s.ms;
    sum.flops += s.flops;
  }
  std::vector<Sum> sorted;
  for (auto& [kind, sum] : sums) {
    sum.kind = kind;
    sorted.push_back(sum);
  }
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Sum& a, const Sum& b) { return a.ms > b.ms; });
  sorted.push_back({"all", r.profile.steps.size(), r.ms, r.flops});
  std::vector<std::vector<std::string>> rows = {
      {"kind", "steps", "ms", "share", "GFLOP", "GFLOP/s", "of peak"}};
  for (const Sum& sum : sorted) {
    std::vector<std::string> row = {sum.kind, std::to_string(sum.steps)};
    add(row, cells(r, sum.ms, sum.flops));
    rows.push_back(std::move(row));
  }
  return table_text(rows);
}

std::string text_of(const Report& r, size_t top) {
  const Profile& p = r.profile;
  const Times times(p.runs);
  std::string text =
      concat(printable(r.title), ": ", p.runs.size(), " runs, min ", fixed(times.min, 3),
             " ms, median ", fixed(times.median, 3), " ms; peak ", fixed(r.profile.peak / 1e9, 1),
             " GFLOP/s, threads: ", threads(), "\n");
  for (const std::string& input : r.inputs) text += concat("  in   ", printable(input), "\n");
  if (p.stages)
    return text +
           "Its shapes depend on its numbers, so that it runs in stages: there is no one "
           "plan whose steps could be told\n";
  return text + "\n" + step_table(r, top) + "\n" + kind_table(r) +
         concat("\narena ", size_text(r.memory.arena), " (the most alive at one time ",
                size_text(r.memory.live), "), parameters ", size_text(p.parameters),
                ", packed weights ", size_text(p.packed), "\n");
}

json json_of(const Report& r) {
  const Profile& p = r.profile;
  const Times times(p.runs);
  json steps = json::array();
  for (const StepTime& s : p.steps) {
    steps.push_back({{"op", s.op},
                     {"shape", s.shape.vec()},
                     {"how", s.how},
                     {"why", s.why},
                     {"ms", s.ms},
                     {"gflop", s.flops / 1e9}});
  }
  return {{"network", r.title},
          {"inputs", r.inputs},
          {"threads", threads()},
          {"runs", p.runs.size()},
          {"min_ms", times.min},
          {"median_ms", times.median},
          {"peak_gflops", r.profile.peak / 1e9},
          {"gflop", r.flops / 1e9},
          {"stages", p.stages},
          {"arena", r.memory.arena},
          {"live", r.memory.live},
          {"parameters", p.parameters},
          {"packed", p.packed},
          {"steps", steps}};
}

/// The fastest run as chrome://tracing and Perfetto read it: complete events, microseconds.
json trace_of(const Report& r) {
  json events = json::array();
  for (const StepTime& s : r.profile.steps) {
    events.push_back({{"name", s.op},
                      {"cat", s.how},
                      {"ph", "X"},
                      {"ts", s.begin * 1e3},
                      {"dur", s.took * 1e3},
                      {"pid", 1},
                      {"tid", 1},
                      {"args",
                       {{"shape", s.shape.str()},
                        {"implementation", s.how},
                        {"why", s.why},
                        {"gflop", s.flops / 1e9}}}});
  }
  return events;
}

int run(const Args& args, Context& context) {
  set_threads(args.number("--threads", 0));
  const int runs = args.number("--runs", 1);
  const int top = args.number("--top", 0);
  const std::string trace = args.text("--trace");
  Network network(args, context, args.text("--device"));
  Session& session = network.session();
  std::vector<Tensor> inputs = given_inputs(args, session);
  make_up_inputs(args, session, inputs);
  std::vector<std::string> specs;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Program& p = session.program();
    specs.push_back(concat(p[p.inputs[i]].name, " ", inputs[i].spec().str()));
  }
  Report r{network.title(), specs, session.profile(inputs, runs), session.memory()};
  for (const StepTime& s : r.profile.steps) {
    r.ms += s.ms;
    r.flops += s.flops;
  }
  if (!trace.empty()) {
    if (r.profile.stages)
      fail(Code::unsupported, "--trace: the shapes of ", r.title,
           " depend on its numbers; it runs in stages and has no steps to trace");
    write_file(trace, json_line(trace_of(r)));
  }
  context.terminal.print(context.json_output ? json_line(json_of(r))
                                             : text_of(r, static_cast<size_t>(top)));
  return 0;
}

}  // namespace

extern const Command profile_command{
    "profile",
    "Shows where the time of a network goes, step by step",
    "A bare name is a module; a file has a '/' or a '.' in it (./NAME). Inputs that --in does not "
    "give\n"
    "are made up: floats from 0 to 1, ones of other types, 1 for a dimension that is not declared.",
    {{"source", "text", "a module or a network file", "", true},
     {"--in", "list", "NAME=FILE.npy; FILE.npy when there is one input"},
     {"--shape", "list", "NAME=1x3x224x224, of an input that is made up"},
     {"--network", "text", "which of the module's networks"},
     {"--device", "text", "cpu or reference", "cpu"},
     {"--threads", "number", "0 means one a processor", "0"},
     {"--runs", "number", "runs to take the best of", "20"},
     {"--top", "number", "how many of the slowest steps; 0 means all", "30"},
     {"--trace", "text", "file for the fastest run, for chrome://tracing or Perfetto"},
     {"--json", "flag", "one JSON object with all steps in order"}},
    run};

}  // namespace hub
