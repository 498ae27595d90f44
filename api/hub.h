// The few lines: a base by its name, data from a file, a tuner, a module. Installed as <hub/hub.h>;
// every other header lies beside it as <hub/room/x.h>.
#pragma once

#include <iosfwd>
#include <string>

#include "finetune/finetune.h"

namespace hub {

/// The module of that name ("minilm-l6", "lac@2.1.2"), installed on first use. Cache and registries
/// are those of the `hub` program: HUB_HOME, HUB_REGISTRY, HUB_OFFLINE and its config file. Throws
/// not_found with the nearest names, network, integrity, storage.
Loaded load(const std::string& name);

/// Columns of a table by their names; what is empty is guessed and the guess is in Splits::notes.
struct Columns {
  std::string text = {};
  std::string pair = {};   ///< the second text of a pair
  std::string label = {};  ///< several by commas: multi-label, each 0 or 1
  std::string group = {};  ///< rows with equal values stay in one split
  std::string task = {};   ///< as in DataOptions
};

/// A CSV, TSV or JSONL file. A tenth of its rows, drawn evenly over the classes, becomes the test
/// set. For other data, or other shares: read_data.
Splits read_table(const std::string& path, const Columns& columns = {});

/// Values, table of classes and warnings.
std::ostream& operator<<(std::ostream& out, const Metrics& metrics);

}  // namespace hub
