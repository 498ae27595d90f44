// `hub run` on many inputs: several batches at once, each read, decoded, predicted and drawn by one
// thread; results in the order of the inputs.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "cli/command.h"
#include "cli/inputs.h"
#include "cli/journal.h"
#include "cli/terminal.h"
#include "modules/module.h"

namespace hub {

class Runner {
 public:
  /// Reads the options of `hub run`.
  Runner(Module& module, const Args& args, Context& context);
  /// Prints a result for each input; one that fails does not stop the others. Returns the exit
  /// status.
  int run(std::vector<InputItem> items);

 private:
  /// What became of an input.
  struct Outcome {
    const InputItem* item = nullptr;
    std::vector<std::string> notes;
    json line;  ///< of the output contract
    std::optional<Error> error;
    double ms = 0;
  };
  using Outcomes = std::vector<Outcome>;

  void pair(const std::vector<InputItem>& items);
  std::vector<InputItem> left(std::vector<InputItem> items);
  void name_files(const std::vector<InputItem>& items);
  json line_of(const InputItem& item, json output) const;
  Outcomes predict(std::span<const InputItem> items) const;
  void write(const Sample& sample, const Image* picture, const Audio* sound,
             Outcome& outcome) const;
  void report(const Outcome& outcome);
  void summarize() const;

  Module& module_;
  Terminal& terminal_;
  bool json_, timing_, pair_;
  std::string second_, folder_, journal_path_;
  Image second_picture_;  ///< --second of tasks that take a picture there
  RunOptions options_;
  size_t batch_ = 1;
  std::unique_ptr<Journal> journal_;
  std::map<const InputItem*, std::string> files_;  ///< where what is made of each goes, less ending
  std::string single_;                             ///< --output FILE.wav: the one file to write
  mutable std::atomic<bool> lost_ = false;         ///< something was made that nobody keeps
  bool named_ = false;
  int worst_ = 0;
  size_t before_ = 0, done_ = 0, failed_ = 0;
};

}  // namespace hub
