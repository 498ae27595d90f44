// run.jsonl: what happened in a training run, one JSON object a line, so that a run can be
// followed, charted and continued.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "finetune/metrics/metrics.h"
#include "finetune/report/chart.h"

namespace hub {

/// One training step that was applied. Steps count from 1 over all epochs.
struct StepLine {
  int64_t step = 0, epoch = 0;
  double loss = 0, learning_rate = 0;
  double samples_per_second = 0, seconds = 0;  ///< seconds since the start of the run
};

/// Appends to the file of one run; every line is whole in the file before the call returns, and on
/// the disk after start, eval, checkpoint and end. Throws Code::storage.
class RunLog {
 public:
  /// A new run: replaces the file.
  explicit RunLog(const std::string& path);
  /// Goes on after `step`: what the file says of later steps is dropped, and so is what follows the
  /// checkpoint of that step (it will happen again) and a last line that was cut short.
  RunLog(const std::string& path, int64_t step);
  ~RunLog();
  RunLog(const RunLog&) = delete;
  RunLog& operator=(const RunLog&) = delete;

  /// `step` is 0, or where the run goes on.
  void start(int64_t step, std::string_view name,
             const std::vector<std::pair<std::string, std::string>>& settings);
  void step(const StepLine& line);
  /// Metrics of `set` ("validation"); `main_value` names the one that decides which step is best.
  void eval(int64_t step, int64_t epoch, std::string_view set, std::string_view main_value,
            const Metrics& metrics);
  void checkpoint(int64_t step, std::string_view path);
  /// `reason`: "finished", "early-stop", "time-budget", "stopped", or what went wrong.
  void end(int64_t step, std::string_view reason, double seconds);

 private:
  void append(const json& line, bool sync);
  std::string path_;
  int file_ = -1;
};

/// The charts of a run from its file: loss (training and evaluations), the main value of the
/// evaluations, learning rate. A cut last line is passed over. Throws Code::refused naming the line
/// when the file is no such log.
std::vector<Chart> charts_of_run(const std::string& path);

}  // namespace hub
