#include "modules/point_reader.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace hub {
namespace {

float sigmoid(float x) { return 1 / (1 + std::exp(-x)); }

std::optional<size_t> output_number(Fields& fields, const char* key) {
  if (!fields.has(key)) return {};
  return static_cast<size_t>(fields.integer(key, 0, 64));
}

}  // namespace

PointReader::PointReader(Module& module, Fields& pre, Fields& post)
    : network_(module, "points", pre),
      count_(static_cast<size_t>(post.integer("count", 1, 4096))),
      values_(static_cast<size_t>(post.integer("values", 3, 16))),
      logit_(post.boolean("logit")),
      threshold_(post.number("threshold")),
      depth_(post.number("depth", 1)),
      sides_(output_number(post, "sides")),
      heatmap_(output_number(post, "heatmap")) {
  if (!(threshold_ >= 0 && threshold_ <= 1)) post.refuse("threshold", "is not within 0 to 1");
  if (!(depth_ > 0 && depth_ <= 100)) post.refuse("depth", "is not within 0 to 100");
}

std::optional<Figure> PointReader::read(const Image& image, const Region& region) const {
  const std::vector<Tensor> outputs = network_.run(image, region);
  const float presence = network_.floats(outputs, 1, 1)[0];
  Figure figure;
  figure.score = logit_ ? sigmoid(presence) : presence;
  if (!(figure.score > threshold_)) return {};

  const auto numbers = network_.floats(outputs, 0);
  const size_t known = numbers.size() / values_;  // some networks have points of their own behind
  if (numbers.size() % values_ != 0 || known < count_) {
    network_.refuse(concat("gives ", numbers.size(), " numbers as points, wanted ", values_,
                           " for each of ", count_));
  }
  const float side = static_cast<float>(network_.size());
  std::vector<float> places;
  for (size_t i = 0; i < count_; ++i) {
    places.push_back(numbers[i * values_] / side);
    places.push_back(numbers[i * values_ + 1] / side);
  }
  if (heatmap_) refine(places, outputs, known);
  for (size_t i = 0; i < count_; ++i) {
    KeyPoint p = region.at(places[2 * i], places[2 * i + 1]);
    const float* values = numbers.data() + i * values_;
    p.z = values[2] / side / depth_ * region.side;
    if (values_ > 3) p.visibility = sigmoid(values[3]);
    figure.points.push_back(p);
  }
  if (sides_) figure.label = network_.floats(outputs, *sides_, 1)[0] > 0.5F ? 0 : 1;
  const auto [left, right] =
      std::minmax_element(figure.points.begin(), figure.points.end(),
                          [](const KeyPoint& a, const KeyPoint& b) { return a.x < b.x; });
  const auto [top, bottom] =
      std::minmax_element(figure.points.begin(), figure.points.end(),
                          [](const KeyPoint& a, const KeyPoint& b) { return a.y < b.y; });
  figure.left = left->x, figure.right = right->x, figure.top = top->y, figure.bottom = bottom->y;
  return figure;
}

void PointReader::refine(std::span<float> places, const std::vector<Tensor>& outputs,
                         size_t known) const {
  constexpr int reach = 4;
  constexpr float least = 0.5F;  // where nothing around is surer, the point stays
  const auto map = network_.floats(outputs, *heatmap_);
  const Shape& shape = outputs[*heatmap_].shape();
  if (shape.rank() != 4 || shape[0] != 1 || shape[3] != static_cast<int64_t>(known) ||
      std::max(shape[1], shape[2]) > 4096) {
    network_.refuse(
        concat("gives ", shape.str(), " as heatmap, wanted [1, height, width, ", known, "]"));
  }
  const int height = static_cast<int>(shape[1]), width = static_cast<int>(shape[2]);
  for (size_t i = 0; 2 * i < places.size(); ++i) {
    float &u = places[2 * i], &v = places[2 * i + 1];
    if (!(std::abs(u) < 2 && std::abs(v) < 2)) continue;
    const int x = static_cast<int>(u * static_cast<float>(width));
    const int y = static_cast<int>(v * static_cast<float>(height));
    if (x < 0 || x >= width || y < 0 || y >= height) continue;
    float sum = 0, across = 0, down = 0, most = 0;
    for (int row = std::max(0, y - reach); row <= std::min(height - 1, y + reach); ++row) {
      for (int column = std::max(0, x - reach); column <= std::min(width - 1, x + reach);
           ++column) {
        const auto at = static_cast<size_t>(row * width + column);
        const float sure = sigmoid(map[at * known + i]);
        sum += sure, most = std::max(most, sure);
        across += sure * static_cast<float>(column);
        down += sure * static_cast<float>(row);
      }
    }
    if (most < least) continue;
    u = across / static_cast<float>(width) / sum;
    v = down / static_cast<float>(height) / sum;
  }
}

}  // namespace hub
