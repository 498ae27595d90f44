#include "finetune/report/chart.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "finetune/metrics/number.h"
#include "finetune/report/html.h"

namespace hub {
namespace {

constexpr double width = 460, height = 250, left = 50, right = 14, top = 10, bottom = 32;
constexpr double largest = 1e300;  // so that ranges stay finite
constexpr size_t most_points = 240, most_rows = 24;
using Points = std::vector<std::pair<int64_t, double>>;

/// At most `most` points, each the mean of its neighbours at the last one's step.
Points thinned(const Points& points, size_t most) {
  Points all;
  for (const auto& p : points)
    if (std::abs(p.second) <= largest) all.push_back(p);
  if (all.size() <= most) return all;
  Points few;
  for (size_t i = 0; i < most; ++i) {
    const size_t begin = i * all.size() / most, end = (i + 1) * all.size() / most;
    double sum = 0;
    for (size_t k = begin; k < end; ++k) sum += all[k].second;
    few.emplace_back(all[end - 1].first, sum / static_cast<double>(end - begin));
  }
  return few;
}

/// An axis from `low` to `high` in steps of 1, 2 or 5 times a power of ten.
struct Axis {
  double low, high, step;
};

Axis axis_of(double low, double high, bool whole) {
  constexpr double least = 1e-200;  // below, the powers of ten end
  if (high - low <= std::max(least, 1e-12 * std::max(std::abs(low), std::abs(high)))) {
    const double room = std::abs(low) <= least ? 1 : std::abs(low) / 2;
    low -= whole ? 1 : room;
    high += whole ? 1 : room;
  }
  const double rough = (high - low) / 5, power = std::pow(10, std::floor(std::log10(rough)));
  const double digit = rough / power;
  double step = power * (digit <= 1 ? 1 : digit <= 2 ? 2 : digit <= 5 ? 5 : 10);
  if (whole) step = std::max(1.0, step);
  return {std::floor(low / step + 1e-9) * step, std::ceil(high / step - 1e-9) * step, step};
}

std::string at(double value) { return fixed_text(value, 1); }

std::string summary(const Curve& curve) {
  const Points points = thinned(curve.points, curve.points.size());
  const auto [low, high] = std::minmax_element(
      points.begin(), points.end(), [](auto& a, auto& b) { return a.second < b.second; });
  return concat(curve.name, ": last ", number_text(points.back().second), ", lowest ",
                number_text(low->second), " at step ", low->first, ", highest ",
                number_text(high->second), " at step ", high->first);
}

}  // namespace

std::string chart_html(const Chart& chart) {
  std::vector<std::pair<const Curve*, Points>> drawn;
  for (const Curve& curve : chart.curves)
    if (Points points = thinned(curve.points, most_points); !points.empty())
      drawn.emplace_back(&curve, std::move(points));
  if (drawn.empty()) return "";

  double low = HUGE_VAL, high = -HUGE_VAL, last = 0;
  for (const auto& [curve, points] : drawn) {
    for (const auto& [step, value] : points) {
      low = std::min(low, value);
      high = std::max(high, value);
      last = std::max(last, static_cast<double>(step));
    }
  }
  const Axis x = axis_of(0, last, true), y = axis_of(low, high, false);
  auto px = [&](double step) {
    return left + (step - x.low) / (x.high - x.low) * (width - left - right);
  };
  auto py = [&](double v) {
    return height - bottom - (v - y.low) / (y.high - y.low) * (height - top - bottom);
  };

  const std::string title = spoken(chart.title);
  std::string label = title, legend, curves, axes;
  std::vector<std::vector<std::string>> rows = {{"Curve", "Step", "Value"}};
  for (size_t i = 0; i < drawn.size(); ++i) {
    const auto& [curve, points] = drawn[i];
    const std::string colour = concat("c", i % 4), said = summary(*curve);
    label += concat(". ", said);
    legend += concat("<li><span class=\"swatch ", colour, "\"></span>", escaped(said), "</li>");
    curves += concat("<polyline class=\"curve ", colour, "\" points=\"");
    for (const auto& [step, value] : points)
      curves += concat(at(px(static_cast<double>(step))), ",", at(py(value)), " ");
    curves += "\"/>";
    if (points.size() <= 30) {
      for (const auto& [step, value] : points)
        curves += concat("<circle class=\"", colour, "\" r=\"3.5\" cx=\"",
                         at(px(static_cast<double>(step))), "\" cy=\"", at(py(value)), "\"/>");
    }
    for (const auto& [step, value] : thinned(points, most_rows))
      rows.push_back({curve->name, std::to_string(step), number_text(value)});
  }
  for (double v = y.low; v <= y.high + y.step / 2; v += y.step) {
    const double shown = std::abs(v) < y.step / 1e6 ? 0 : v;
    axes +=
        concat("<line class=\"grid\" x1=\"", at(left), "\" x2=\"", at(width - right), "\" y1=\"",
               at(py(v)), "\" y2=\"", at(py(v)), "\"/><text text-anchor=\"end\" x=\"", at(left - 6),
               "\" y=\"", at(py(v) + 4), "\">", number_text(shown, 3), "</text>");
  }
  for (double v = x.low; v <= x.high + x.step / 2; v += x.step)
    axes += concat("<text text-anchor=\"middle\" x=\"", at(px(v)), "\" y=\"", at(height - 12),
                   "\">", number_text(v, 7), "</text>");
  return concat("<figure><h3>", escaped(title), "</h3><svg viewBox=\"0 0 ", at(width), " ",
                at(height), "\" role=\"img\" aria-label=\"", escaped(label), "\">", axes, curves,
                "</svg><figcaption><ul>", legend,
                "</ul><details><summary>Numbers by step</summary>",
                table_html(concat(title, ", numbers"), rows), "</details></figcaption></figure>\n");
}

}  // namespace hub
