// The learning-rate range test (Smith 2017): the rate rises from step to step until the loss blows
// up; where it fell fastest is a good rate.
#pragma once

#include <string>
#include <vector>

#include "finetune/finetune.h"

namespace hub {

struct RatePoint {
  double rate, loss, smoothed;
};

struct RateTest {
  std::vector<RatePoint> points;
  double steepest = 0;  ///< where the smoothed loss falls fastest
  double tenth = 0;     ///< a tenth of the rate at which it is least
  std::string ended;    ///< "finished", "diverged" or "stopped"
};

/// Rates from 1e-7 to 10 over at most 100 steps and one epoch; ends when the smoothed loss is above
/// four times its best, or is no number. Nothing is kept but features. `how.stop` ends it early.
RateTest lr_find(const Installed& base, const Splits& splits, TrainOptions options,
                 TunerOptions how);

/// What the points suggest: `steepest` and `tenth`; both 0 when there are fewer than three.
void suggest_rates(RateTest& test);

}  // namespace hub
