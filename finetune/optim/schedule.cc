#include "finetune/optim/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/error.h"
#include "base/text.h"

namespace hub {
namespace {

double cosine(double from, double to, double t) {
  return to + (from - to) * (1 + std::cos(std::numbers::pi * t)) / 2;
}

}  // namespace

void Schedule::check() const {
  if (kind == "range" && end > 0 && end < 1) return;
  const std::vector<std::string> kinds = {"constant", "step",       "polynomial", "linear",
                                          "cosine",   "triangular", "one-cycle"};
  if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end())
    fail(Code::usage, "schedule '", kind, "'; wanted ", one_of(kinds));
  if (!(warmup >= 0 && warmup < 1)) fail(Code::usage, "warm-up is ", warmup, ", wanted 0 to 1");
  if (!(cut > 0 && cut < 1)) fail(Code::usage, "cut is ", cut, ", wanted between 0 and 1");
}

double Schedule::at(long step, long total) const {
  const auto n = static_cast<double>(std::max(total, 1L));
  const auto s = static_cast<double>(std::clamp(step, 0L, std::max(total, 1L)));
  if (kind == "range") {
    const auto last = static_cast<double>(steps > 0 ? std::min(steps, total) : total) - 1;
    return std::pow(end, 1 - std::min(s / std::max(last, 1.0), 1.0));
  }
  if (kind == "triangular") {
    const double top = std::max(std::floor(n * cut), 1.0);
    const double p = s < top ? s / top : 1 - (s - top) / std::max(n - top, 1.0);
    return (1 + p * (ratio - 1)) / ratio;
  }
  if (kind == "one-cycle") {
    const double top = std::max(n * cut, 1.0);
    return s < top ? cosine(1.0 / 25, 1, s / top)
                   : cosine(1, 1.0 / 25e4, (s - top) / std::max(n - top, 1.0));
  }
  const double ramp = warmup * n;
  if (s < ramp) return s / ramp;
  const double t = (s - ramp) / std::max(n - ramp, 1.0);
  if (kind == "linear") return end + (1 - end) * (1 - t);
  if (kind == "polynomial") return end + (1 - end) * std::pow(1 - t, power);
  if (kind == "cosine") return cosine(1, end, t);
  if (kind == "step") {
    const auto passed =
        std::count_if(boundaries.begin(), boundaries.end(), [&](double b) { return s >= b * n; });
    return std::pow(factor, static_cast<double>(passed));
  }
  return 1;
}

}  // namespace hub
