// The task API: a base module, data, a few options, and out comes an ordinary module. The public
// header of finetune/.
#pragma once

#include <memory>
#include <string>

#include "finetune/data/data.h"
#include "finetune/metrics/metrics.h"
#include "finetune/options.h"
#include "finetune/report/report.h"
#include "finetune/trainer.h"
#include "modules/module.h"

namespace hub {

struct TunerOptions {
  std::string task;  ///< as in DataOptions; empty: what the data looks like and the base can do
  bool crf = false;  ///< sequence labelling: the tags of a text are chosen together, by a CRF
  std::string name = "tuned";  ///< of the module, with "@version" or 1.0.0
  std::string device = "cpu";
  std::string work;      ///< folder for checkpoints, run.jsonl, event files and report.html; empty:
                         ///< nothing is kept
  std::string features;  ///< folder for features that are computed once; empty: in memory
  bool resume = false;
  const std::atomic<int>* stop = nullptr;
  TrainListener* listener = nullptr;
};

/// A base with the hub that it came from, so that what is made of it has a place to go.
struct Loaded : Installed {
  std::shared_ptr<Hub> hub;
  std::string folder;  ///< for files on their way into the cache
};

/// Trains one base module. Throws Code::unsupported naming the base's task when it cannot.
class Tuner {
 public:
  /// `base` stays as it is.
  Tuner(Installed base, TunerOptions options = {});
  Tuner(Loaded base, TunerOptions options = {});
  ~Tuner();

  /// Trains on splits.train, watching splits.validation. A rate of 0 in `options` is chosen by
  /// strategy.
  const TrainResult& fit(const Splits& splits, TrainOptions options = {});
  /// The same with a tenth of the rows set aside to be watched.
  const TrainResult& fit(const Dataset& rows, TrainOptions options = {});
  /// Metrics of the trained network on other rows with the same classes.
  Metrics evaluate(const Dataset& data);
  /// The trained module itself, before it is saved.
  Module& module();
  /// Writes the module's files to `folder` (manifest.json among them), with examples from the
  /// validation rows.
  Manifest write(const std::string& folder);
  /// write(), then into the cache of `hub`, where it is a module like any other.
  Installed save(Hub& hub);
  /// Into the hub that the base was loaded from, as `name`, with "@version" or 1.0.0.
  Installed save(const std::string& name);
  /// The page about the run; also written to the work folder by fit().
  ReportData report(size_t worst = 12);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// The name of the metric that decides which epoch is best, for a base and data; `lower` becomes
/// whether less is better.
std::string tuned_metric(const Manifest& base, const Splits& splits, bool* lower = nullptr);
/// How the data for a module is to be read: a task for DataOptions.
std::string data_task(const Manifest& module);

/// What `hub eval` does: metrics of an installed module on data whose labels are its own names.
struct EvalResult {
  Metrics metrics;
  std::vector<WorstCase> worst;
};
EvalResult evaluate_module(Module& module, const Dataset& data, size_t worst = 0);

}  // namespace hub
