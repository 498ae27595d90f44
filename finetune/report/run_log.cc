#include "finetune/report/run_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "hub/manifest.h"

namespace hub {
namespace {

constexpr uint64_t largest_log = uint64_t{1} << 30;

/// The whole lines of a log; the last one may have been cut by a lost machine.
std::vector<std::string_view> whole_lines(std::string_view text) {
  std::vector<std::string_view> whole = split(text, '\n');
  whole.pop_back();  // what follows the last '\n'
  return whole;
}

json parse_line(const std::string& path, size_t number, std::string_view line) {
  return within(concat(path, ":", number), [&] {
    json object = parse_json(line);
    if (!object.is_object() || !object.contains("event") || !object["event"].is_string() ||
        !object.contains("step") || !object["step"].is_number_integer())
      fail(
          Code::refused,
          "not a line of a training log, which has an \"event\" and a \"step\"; move the file away "
          "to go on without it");
    return object;
  });
}

/// What of the log stays true when the run goes on after `step`.
std::string kept(const std::string& path, int64_t step) {
  const std::string text = read_file(path, largest_log);
  std::string all, until_checkpoint;
  size_t number = 0;
  for (std::string_view line : whole_lines(text)) {
    const json object = parse_line(path, ++number, line);
    if (object["step"] > step || object["event"] == "end") continue;
    all += concat(line, "\n");
    if (object["event"] == "checkpoint" && object["step"] == step) until_checkpoint = all;
  }
  return until_checkpoint.empty() ? all : until_checkpoint;
}

}  // namespace

RunLog::RunLog(const std::string& path) : path_(path) {
  write_file(path, "");
  file_ = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (file_ < 0) fail_errno("cannot write", path);
}

RunLog::RunLog(const std::string& path, int64_t step) : path_(path) {
  write_file(path, exists(path) ? kept(path, step) : "");
  file_ = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (file_ < 0) fail_errno("cannot write", path);
}

RunLog::~RunLog() { ::close(file_); }

void RunLog::append(const json& line, bool sync) {
  const std::string text = line.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
  for (size_t done = 0; done < text.size();) {
    const ssize_t n = ::write(file_, text.data() + done, text.size() - done);
    if (n < 0 && errno != EINTR) fail_errno("cannot write", path_);
    if (n > 0) done += static_cast<size_t>(n);
  }
  if (sync && ::fdatasync(file_) != 0) fail_errno("cannot write", path_);
}

void RunLog::start(int64_t step, std::string_view name,
                   const std::vector<std::pair<std::string, std::string>>& settings) {
  json values = json::object();
  for (const auto& [key, value] : settings) values[key] = value;
  append({{"event", "start"}, {"step", step}, {"name", name}, {"settings", values}}, true);
}

void RunLog::step(const StepLine& line) {
  append({{"event", "step"},
          {"step", line.step},
          {"epoch", line.epoch},
          {"loss", line.loss},
          {"learning_rate", line.learning_rate},
          {"samples_per_second", line.samples_per_second},
          {"seconds", line.seconds}},
         false);
}

void RunLog::eval(int64_t step, int64_t epoch, std::string_view set, std::string_view main_value,
                  const Metrics& metrics) {
  append({{"event", "eval"},
          {"step", step},
          {"epoch", epoch},
          {"set", set},
          {"main", main_value},
          {"values", to_json(metrics)["values"]}},
         true);
}

void RunLog::checkpoint(int64_t step, std::string_view path) {
  append({{"event", "checkpoint"}, {"step", step}, {"path", path}}, true);
}

void RunLog::end(int64_t step, std::string_view reason, double seconds) {
  append({{"event", "end"}, {"step", step}, {"reason", reason}, {"seconds", seconds}}, true);
}

std::vector<Chart> charts_of_run(const std::string& path) {
  Chart loss{"Loss", {{"training", {}}}}, value, rate{"Learning rate", {{"learning rate", {}}}};
  auto add = [](Chart& chart, const std::string& name, int64_t step, const json& number) {
    if (!number.is_number()) return;  // null: it was not finite
    for (Curve& curve : chart.curves) {
      if (curve.name == name) return curve.points.emplace_back(step, number.get<double>()), void();
    }
    chart.curves.push_back({name, {{step, number.get<double>()}}});
  };
  const std::string text = read_file(path, largest_log);
  size_t number = 0;
  for (std::string_view line : whole_lines(text)) {
    const json object = parse_line(path, ++number, line);
    const auto step = object["step"].get<int64_t>();
    if (object["event"] == "step") {
      add(loss, "training", step, object.value("loss", json()));
      add(rate, "learning rate", step, object.value("learning_rate", json()));
    } else if (object["event"] == "eval") {
      const json values = object.value("values", json::object());
      const std::string set = object.value("set", "validation");
      const std::string main_value = object.value("main", "loss");
      add(loss, set, step, values.value("loss", json()));
      if (main_value == "loss") continue;
      value.title = main_value;
      add(value, set, step, values.value(main_value, json()));
    }
  }
  std::vector<Chart> charts = {std::move(loss)};
  if (!value.curves.empty()) charts.push_back(std::move(value));
  charts.push_back(std::move(rate));
  return charts;
}

}  // namespace hub
