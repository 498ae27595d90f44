// Detectors with one box an anchor, as BlazeFace (Bazarevsky et al. 2019, arXiv:1907.05047) and its
// relatives for palms and bodies have them; in numbers as MediaPipe 0.10.14.
#pragma once

#include <array>
#include <span>

#include "modules/figure.h"

namespace hub {

/// A grid of cells `stride` pixels wide over the input, with `each` anchors in the middle of a
/// cell.
struct AnchorGrid {
  int64_t stride = 0, each = 0;
};
using AnchorCentre = std::array<float, 2>;

/// Grid after grid, row after row, in parts of the input's side.
std::vector<AnchorCentre> anchor_centres(int64_t side, std::span<const AnchorGrid> grids);

struct AnchorDecoder {
  std::vector<AnchorCentre> centres;
  float side = 0;     ///< of the input in pixels, the unit of the network's numbers
  size_t points = 0;  ///< key points of a box
  float threshold = 0;

  /// boxes: x, y, width, height and the points of an anchor, all from its centre; scores: before
  /// the sigmoid. In parts of the input's side.
  std::vector<Figure> decode(std::span<const float> boxes, std::span<const float> scores) const;
};

/// Boxes that overlap the best one by more than `overlap` (intersection over union) become one with
/// it: places are means weighted by the scores, the score is the best one's; and so on with the
/// rest. Best first.
std::vector<Figure> merged(std::vector<Figure> found, double overlap);

}  // namespace hub
