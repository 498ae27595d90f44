// PP-PicoDet's outputs into boxes (Yu et al. 2021, arXiv:2111.00902), as RapidLayout 1.2.1 reads
// them.
#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "modules/detection.h"

namespace hub {
namespace {

constexpr size_t most_cells = 1000;  ///< of a level, the best ones
constexpr int64_t most_bins = 256;

/// The expected bin of the softmax of `bins` numbers.
double expected(const float* logits, int64_t bins) {
  const float most = *std::max_element(logits, logits + bins);
  double sum = 0, weighted = 0;
  for (int64_t i = 0; i < bins; ++i) {
    const double e = std::exp(static_cast<double>(logits[i]) - most);
    sum += e;
    weighted += e * static_cast<double>(i);
  }
  return weighted / sum;
}

/// One level of PicoDet.
struct Level {
  const float *scores, *sides;
  int64_t columns, cells, bins, stride;
};

/// Refuses a tensor that is not float32 [more than row, cells, last]; last -1: four times the bins.
void check(const Tensor& tensor, int64_t row, int64_t cells, int64_t last) {
  const Shape& shape = tensor.shape();
  if (tensor.dtype() == DType::f32 && shape.rank() == 3 && shape[0] > row && shape[1] == cells) {
    if (shape[2] == last) return;
    if (last == -1 && shape[2] % 4 == 0 && shape[2] >= 4 && shape[2] <= 4 * most_bins) return;
  }
  fail(Code::refused, "the network gives ", tensor.spec().str(), " where ",
       last == -1 ? "boxes" : "scores", " of ", cells, " cells are wanted, float32[", row + 1, ", ",
       cells, ", ", last == -1 ? std::string("4 * bins") : concat(last), "]");
}

/// The cells with a score above the threshold, the best `most_cells` of them.
std::vector<int64_t> candidate_cells(const Level& level, const DetectionInput& input) {
  const auto labels = static_cast<int64_t>(input.labels);
  std::vector<std::pair<float, int64_t>> cells;
  for (int64_t cell = 0; cell < level.cells; ++cell) {
    const float* scores = level.scores + cell * labels;
    if (!std::all_of(scores, scores + labels, [](float score) { return std::isfinite(score); }))
      fail(Code::numeric, "the network gave a score that is not a number");
    const float best = *std::max_element(scores, scores + labels);
    if (best > input.threshold) cells.emplace_back(-best, cell);
  }
  std::sort(cells.begin(), cells.end());
  if (cells.size() > most_cells) cells.resize(most_cells);
  std::vector<int64_t> out;
  for (const auto& [score, cell] : cells) out.push_back(cell);
  return out;
}

void decode_level(const Level& level, const DetectionInput& input, std::vector<Detection>& found) {
  const auto labels = static_cast<int64_t>(input.labels);
  const auto stride = static_cast<double>(level.stride);
  for (const int64_t cell : candidate_cells(level, input)) {
    double side[4];
    for (int64_t k = 0; k < 4; ++k) {
      side[k] = stride * expected(level.sides + (4 * cell + k) * level.bins, level.bins);
      if (!std::isfinite(side[k]))
        fail(Code::numeric, "the network gave a box that is not a number");
    }
    const double x = (static_cast<double>(cell % level.columns) + 0.5) * stride;
    const double y = (static_cast<double>(cell / level.columns) + 0.5) * stride;
    for (int64_t label = 0; label < labels; ++label) {
      const float score = level.scores[cell * labels + label];
      if (!(score > input.threshold)) continue;
      found.push_back(
          {x - side[0], y - side[1], x + side[2], y + side[3], score, static_cast<size_t>(label)});
    }
  }
}

}  // namespace

std::vector<Detection> decode_picodet(const DetectionInput& input) {
  const size_t levels = input.outputs.size() / 2;
  if (levels < 1 || levels > 8 || input.outputs.size() != 2 * levels) {
    fail(Code::refused, "the network has ", input.outputs.size(),
         " outputs, wanted scores and boxes for each of 1 to 8 levels");
  }
  const auto row = static_cast<int64_t>(input.row), labels = static_cast<int64_t>(input.labels);
  std::vector<Detection> found;
  for (size_t i = 0; i < levels; ++i) {
    const int64_t stride = int64_t{8} << i;
    const int64_t columns = (input.width + stride - 1) / stride;
    const int64_t cells = columns * ((input.height + stride - 1) / stride);
    const Tensor &scores = input.outputs[i], &sides = input.outputs[levels + i];
    check(scores, row, cells, labels);
    check(sides, row, cells, -1);
    const int64_t bins = sides.shape()[2] / 4;
    decode_level({scores.data<float>() + row * cells * labels,
                  sides.data<float>() + row * cells * 4 * bins, columns, cells, bins, stride},
                 input, found);
  }
  return found;
}

}  // namespace hub
