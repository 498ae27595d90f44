// What training leaves: the draft of a module while it trains, its files when it is written, and
// what is said about it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "finetune/data/data.h"
#include "finetune/plan.h"
#include "finetune/report/report.h"
#include "finetune/report/run_log.h"
#include "finetune/trainer.h"

namespace hub {

struct SavedParts {
  NamedTensors tuned;
  Pairs settings;
  Metrics metrics;
  const Splits* splits = nullptr;
  uint64_t seed = 0;
};

/// A module that does not exist yet: the base's files with new labels, open for its task.
class Draft {
 public:
  Draft(const Installed& base, const TunePlan& plan, const std::string& name,
        const std::string& version, const std::string& device);
  Module& module() { return *module_; }
  /// Gives it another name before it is written.
  void rename(std::string name, std::string version) {
    name_ = std::move(name);
    version_ = std::move(version);
  }
  /// Files that the base does not have, and manifest.json, into the folder. Examples are validation
  /// rows with what the module gives for them now.
  Manifest write(const std::string& folder, const SavedParts& parts);

 private:
  Installed base_;
  TunePlan plan_;
  std::string name_, version_;
  Silent silent_;
  std::unique_ptr<Module> module_;
};

/// Counts and digests of the splits, for people.
Pairs data_pairs(const Splits& splits);
/// The first `count` of the hardest rows as the report shows them, with what the module says.
std::vector<WorstCase> worst_cases(const Hardest& hardest, const std::vector<std::string>& classes,
                                   Module& module, size_t count);

}  // namespace hub
