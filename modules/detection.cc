#include "modules/detection.h"

#include <algorithm>

namespace hub {
namespace {

constexpr size_t most_candidates = 200, most_kept = 100;  ///< of a label

double area(double width, double height) { return std::max(width, 0.0) * std::max(height, 0.0); }

double area(const Detection& d) { return area(d.right - d.left, d.bottom - d.top); }

double intersection_over_union(const Detection& a, const Detection& b) {
  const double both = area(std::min(a.right, b.right) - std::max(a.left, b.left),
                           std::min(a.bottom, b.bottom) - std::max(a.top, b.top));
  return both / (area(a) + area(b) - both + 1e-5);
}

}  // namespace

std::vector<Detection> without_overlaps(std::vector<Detection> found, double overlap,
                                        bool across_labels) {
  std::stable_sort(found.begin(), found.end(),
                   [](const Detection& a, const Detection& b) { return a.score > b.score; });
  std::vector<Detection> kept;
  std::vector<std::pair<size_t, size_t>> seen;  // of a label: looked at, kept
  for (const Detection& d : found) {
    const size_t group = across_labels ? 0 : d.label;
    seen.resize(std::max(seen.size(), group + 1));
    auto& [looked, stays] = seen[group];
    if (++looked > most_candidates || stays == most_kept) continue;
    const bool covered = std::any_of(kept.begin(), kept.end(), [&](const Detection& k) {
      return (across_labels || k.label == d.label) && intersection_over_union(k, d) > overlap;
    });
    if (covered) continue;
    kept.push_back(d);
    ++stays;
  }
  return kept;
}

}  // namespace hub
