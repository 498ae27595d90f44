// A network that finds the points of a face, a hand or a body in a square cut out around it.
#pragma once

#include "modules/crop_network.h"

namespace hub {

class PointReader {
 public:
  /// Network "points", whose output 0 has the points and output 1 how sure it is that they are
  /// there. `pre`: as CropNetwork. `post`: count of points, with so many `values` each (x, y, z in
  /// pixels of the input, then what says whether the point can be seen); logit: whether output 1 is
  /// before its sigmoid; threshold, above which the points are there; depth: what z is divided by;
  /// sides: an output, above a half the first label and else the second; heatmap: an output [1,
  /// height, width, points] that points are moved by (in 9 x 9 places around them).
  PointReader(Module& module, Fields& pre, Fields& post);

  bool two_sided() const { return sides_.has_value(); }
  /// Nothing when the network does not see there what it looks for. Its box is that of the points.
  std::optional<Figure> read(const Image& image, const Region& region) const;

 private:
  /// Two numbers a point, in parts of the square.
  void refine(std::span<float> places, const std::vector<Tensor>& outputs, size_t known) const;

  CropNetwork network_;
  size_t count_ = 0, values_ = 0;
  bool logit_ = false;
  double threshold_ = 0, depth_ = 1;
  std::optional<size_t> sides_, heatmap_;
};

}  // namespace hub
