// Curves over training steps, drawn as SVG.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace hub {

struct Curve {
  std::string name;
  std::vector<std::pair<int64_t, double>> points;  ///< step (ascending) and value
};

struct Chart {
  std::string title;
  std::vector<Curve> curves;
};

/// A <figure> with the chart, its legend and, folded, its numbers as a table. Values that are not
/// finite, or beyond 1e300, are left out. Empty where there is nothing to draw.
std::string chart_html(const Chart& chart);

}  // namespace hub
