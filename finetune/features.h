// Features computed once: when nothing before the head trains, each row is run through the backbone
// a single time.
#pragma once

#include <optional>
#include <string>

#include "finetune/trainer.h"

namespace hub {

/// A job like `job` whose network is the part behind the features and whose encode looks them up.
/// Nothing when the features are not one row an input. `owner` keeps what the job views.
struct FeatureJob {
  TrainJob job;
  Tensor train, validation;  ///< [rows, width]
};
std::optional<FeatureJob> feature_job(const TrainJob& job);

}  // namespace hub
