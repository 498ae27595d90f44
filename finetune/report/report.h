// What a person reads of a training run: the page report.html, the line of progress and the model
// card.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "finetune/metrics/metrics.h"
#include "finetune/report/chart.h"

namespace hub {

/// A row that the model gets most wrong. Empty parts are left out.
struct WorstCase {
  std::string source;   ///< file and line, or path
  std::string text;     ///< the sentence
  std::string picture;  ///< bytes of a PNG, JPEG, GIF or WebP file, of the size to be shown
  std::string wanted, got;
  double loss = 0;
};

struct ReportData {
  std::string title;                                          ///< "reviews@1.0.0"
  std::string summary;                                        ///< one sentence
  std::vector<std::pair<std::string, std::string>> data;      ///< rows by split, digest, …
  std::vector<std::pair<std::string, std::string>> settings;  ///< as used, defaults included
  std::vector<Chart> charts;
  std::string measured_on;  ///< "validation set, 1,000 rows"
  Metrics metrics;
  std::vector<WorstCase> worst;       ///< worst first
  std::vector<std::string> warnings;  ///< of data and training; those of the metrics are added
};

/// One self-contained page: nothing is loaded from anywhere, no script. All texts are escaped.
std::string report_html(const ReportData& data);

struct ProgressState {
  int64_t epoch = 0, epochs = 0, step = 0, steps = 0;  ///< steps of this epoch
  double loss = 0;
  std::string metric;  ///< name of `value`; empty: not known yet
  double value = 0;
  double samples_per_second = 0;
  std::optional<double> seconds_left;
};

/// "epoch 2/5 step 31/120 loss 0.412 accuracy 0.83 215 samples/s 0:41 left"
std::string progress_line(const ProgressState& state);

struct CardData {
  std::string name, version, task, summary;
  std::string base, license;  ///< "mobilenet-v2@1.0.0" and its licence, which this module inherits
  std::string base_digest, data_digest;
  std::vector<std::pair<std::string, std::string>> data, options;
  std::string measured_on;
  Metrics metrics;
  std::string example_input;  ///< for the command line: "picture.jpg" or a sentence
};

/// README.md of a saved module, Markdown.
std::string model_card(const CardData& data);

}  // namespace hub
