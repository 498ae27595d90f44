// Learning-rate schedules: what the rate is multiplied by at each step.
#pragma once

#include <string>
#include <vector>

namespace hub {

/// A schedule over `total` steps, the first of which is step 0:
///   constant                  1
///   step        boundaries (shares of total), factor at each
///   polynomial  from 1 to `end` as (1 - t)^power; power 1 is linear
///   cosine      from 1 to `end` along half a cosine
///   triangular  slanted (Howard & Ruder 2018): up over `cut` of the steps, down over the rest,
///               from and to 1 / ratio
///   range       from `end` to 1 exponentially, over `steps`: for the rate range test
///   one-cycle   (Smith 2018) cosine up from 1/25 over `cut`, cosine down to 1/25e4
/// `warmup` (a share of total) rises linearly from 0 before all but triangular and one-cycle, whose
/// shape is a warm-up already.
struct Schedule {
  std::string kind = "constant";
  double warmup = 0;
  double end = 0, power = 1;
  double cut = 0.1, ratio = 32;
  std::vector<double> boundaries = {0.5, 0.75};
  double factor = 0.1;
  long steps = 0;  ///< the whole of "range"; 0: total

  /// Throws Code::usage naming a kind or number that is not known.
  void check() const;
  double at(long step, long total) const;
};

}  // namespace hub
