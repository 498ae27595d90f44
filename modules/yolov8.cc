// YOLOv8's output into boxes: [N, 4 + labels, cells], a column a cell: the box's middle, width and
// height in pixels of the network's input, then the score of each label.
#include <cmath>

#include "base/error.h"
#include "modules/detection.h"

namespace hub {

std::vector<Detection> decode_yolov8(const DetectionInput& input) {
  const size_t values = 4 + input.labels;
  if (input.outputs.empty()) fail(Code::refused, "the network gives nothing");
  const Tensor& tensor = input.outputs[0];
  const Shape& shape = tensor.shape();
  if (tensor.dtype() != DType::f32 || shape.rank() != 3 ||
      shape[0] <= static_cast<int64_t>(input.row) || shape[1] != static_cast<int64_t>(values))
    fail(Code::refused, "the network gives ", tensor.spec().str(), ", wanted float32[",
         input.row + 1, ", ", values, ", cells]");
  const auto cells = static_cast<size_t>(shape[2]);
  const float* numbers = tensor.data<float>() + input.row * values * cells;
  std::vector<Detection> found;
  for (size_t cell = 0; cell < cells; ++cell) {
    const auto value = [&](size_t i) { return numbers[i * cells + cell]; };
    size_t best = 0;
    for (size_t label = 0; label < input.labels; ++label) {
      if (!std::isfinite(value(4 + label)))
        fail(Code::numeric, "the network gave a score that is not a number");
      if (value(4 + label) > value(4 + best)) best = label;
    }
    const float score = value(4 + best);
    if (!(score > input.threshold)) continue;
    const double x = value(0), y = value(1), across = value(2), down = value(3);
    if (!std::isfinite(x + y + across + down))
      fail(Code::numeric, "the network gave a box that is not a number");
    found.push_back({x - across / 2, y - down / 2, x + across / 2, y + down / 2, score, best});
  }
  return found;
}

}  // namespace hub
