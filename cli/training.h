// What the training commands share: options of the command line as training options, the terminal
// as a listener, signals.
#pragma once

#include <atomic>
#include <vector>

#include "cli/command.h"
#include "cli/terminal.h"
#include "finetune/finetune.h"

namespace hub {

/// --text, --label, … of a data set; read_data's options.
DataOptions data_options(const Args& args);
/// The table's entries for these.
std::vector<Argument> with_data_arguments(std::vector<Argument> own);
/// --epochs, --lr, … Throws Code::usage.
TrainOptions train_options(const Args& args);
std::vector<Argument> with_train_arguments(std::vector<Argument> own);

/// "90", "15m", "2h" in seconds.
double seconds_of(std::string_view name, const std::string& text);

/// While it lives, SIGTERM, SIGINT and SIGUSR1 set a flag; a second one ends the process at once.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;
  const std::atomic<int>* flag() const;
  int signal() const { return flag()->load(); }
};

/// Shows steps as a line that renews itself (on a terminal), epochs and notes as lines.
class TrainingLines final : public TrainListener {
 public:
  TrainingLines(Terminal& terminal, int64_t epochs, std::string metric)
      : terminal_(terminal), epochs_(epochs), metric_(std::move(metric)) {}
  void step(const Step& s) override;
  void evaluated(int64_t epoch, int64_t step, double loss, const Metrics& m, bool best) override;
  void note(std::string_view text) override;

 private:
  Terminal& terminal_;
  int64_t epochs_;
  std::string metric_;
  double value_ = 0;
  bool known_ = false;
};

}  // namespace hub
