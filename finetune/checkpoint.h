// Checkpoints of a training run: everything that is needed to go on as if nothing had happened. A
// file is complete or absent; its name carries its digest.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "runtime/runtime.h"

namespace hub {

using json = nlohmann::json;

/// Where a run stands.
struct Position {
  int64_t epoch = 0;                     ///< from 0: the one that goes on
  int64_t batch = 0;                     ///< batches of it that are done
  int64_t step = 0;                      ///< steps that were applied
  double loss_sum = 0, loss_weight = 0;  ///< of the epoch so far
  double seconds = 0;                    ///< spent so far
  std::optional<double> best;            ///< best metric of an epoch's end
  int64_t best_epoch = -1;
  int64_t worse = 0;  ///< epochs since
  bool ended = false;
  double train_loss = 0;  ///< of the last epoch that ended
};

struct Checkpoint {
  Position position;
  NamedTensors states;  ///< parameters, slots, statistics
  NamedTensors best;    ///< parameters of the best epoch
};

class Checkpoints {
 public:
  /// `identity` says what run it is (data, base, options): another one is not continued.
  Checkpoints(std::string folder, json identity);

  /// Writes, then removes all but this one and the one before; what another run left in the folder
  /// goes with the first save of this one. Returns the path.
  std::string save(const Checkpoint& checkpoint);
  /// The newest that is complete and right, or nothing; damaged ones are named in `notes`. Throws
  /// Code::usage naming what differs when it is of another run.
  std::optional<Checkpoint> newest(std::vector<std::string>& notes);

 private:
  std::string folder_;
  std::string identity_;
  bool own_ = false;  ///< the newest in the folder is of this run
};

/// Removes all that are in a folder.
void remove_checkpoints(const std::string& folder);

}  // namespace hub
