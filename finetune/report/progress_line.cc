#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "finetune/metrics/number.h"
#include "finetune/report/report.h"

namespace hub {
namespace {

/// "0:41", "1:02:03"
std::string clock_text(double seconds) {
  constexpr double longest = 359'999;  // 99:59:59
  const auto all = static_cast<int64_t>(std::llround(std::clamp(seconds, 0.0, longest)));
  auto two = [](int64_t n) { return concat(n < 10 ? "0" : "", n); };
  const int64_t hours = all / 3600, minutes = all / 60 % 60;
  if (hours == 0) return concat(minutes, ":", two(all % 60));
  return concat(hours, ":", two(minutes), ":", two(all % 60));
}

}  // namespace

std::string progress_line(const ProgressState& state) {
  std::string line = concat("epoch ", state.epoch, "/", state.epochs, " step ", state.step, "/",
                            state.steps, " loss ", number_text(state.loss, 3));
  if (!state.metric.empty()) line += concat(" ", state.metric, " ", number_text(state.value, 3));
  const double speed = state.samples_per_second;
  if (speed > 0)
    line += concat(" ", speed < 10 ? number_text(speed, 2) : fixed_text(speed, 0), " samples/s");
  if (state.seconds_left && std::isfinite(*state.seconds_left))
    line += concat(" ", clock_text(*state.seconds_left), " left");
  return line;
}

}  // namespace hub
