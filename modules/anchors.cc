#include "modules/anchors.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "modules/crop_network.h"

namespace hub {
namespace {

constexpr size_t most_anchors = 1 << 14;

double overlap_of(const Figure& a, const Figure& b) {
  const double width = std::min(a.right, b.right) - std::max(a.left, b.left);
  const double height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
  if (width <= 0 || height <= 0) return 0;
  const auto area = [](const Figure& f) { return (f.right - f.left) * (f.bottom - f.top); };
  return width * height / (area(a) + area(b) - width * height);
}

/// The best of `group`, with the weighted mean of all places in it.
Figure mean_of(std::span<const Figure> group) {
  Figure mean = group.front();
  const auto average = [&](auto place) {
    double sum = 0, weight = 0;
    for (const Figure& f : group) sum += place(f) * f.score, weight += f.score;
    return sum / weight;
  };
  mean.left = average([](const Figure& f) { return f.left; });
  mean.top = average([](const Figure& f) { return f.top; });
  mean.right = average([](const Figure& f) { return f.right; });
  mean.bottom = average([](const Figure& f) { return f.bottom; });
  for (size_t i = 0; i < mean.points.size(); ++i) {
    mean.points[i].x = average([i](const Figure& f) { return f.points[i].x; });
    mean.points[i].y = average([i](const Figure& f) { return f.points[i].y; });
  }
  return mean;
}

class AnchorFinder {
 public:
  AnchorFinder(CropNetwork network, AnchorDecoder decoder, double overlap)
      : network_(std::move(network)), decoder_(std::move(decoder)), overlap_(overlap) {}

  std::vector<Figure> operator()(const Image& image) const {
    const Region whole = square_around(image);
    const std::vector<Tensor> outputs = network_.run(image, whole);
    const size_t anchors = decoder_.centres.size();
    std::vector<Figure> found =
        merged(decoder_.decode(network_.floats(outputs, 0, anchors * (4 + 2 * decoder_.points)),
                               network_.floats(outputs, 1, anchors)),
               overlap_);
    for (Figure& f : found) {
      const KeyPoint corner = whole.at(f.left, f.top), other = whole.at(f.right, f.bottom);
      f.left = corner.x, f.top = corner.y, f.right = other.x, f.bottom = other.y;
      for (KeyPoint& p : f.points) p = whole.at(p.x, p.y);
    }
    return found;
  }

 private:
  CropNetwork network_;
  AnchorDecoder decoder_;
  double overlap_;
};

}  // namespace

std::vector<AnchorCentre> anchor_centres(int64_t side, std::span<const AnchorGrid> grids) {
  std::vector<AnchorCentre> centres;
  for (const AnchorGrid& grid : grids) {
    const int64_t cells = (side + grid.stride - 1) / grid.stride;
    const auto middle = [&](int64_t cell) {
      return (static_cast<float>(cell) + 0.5F) / static_cast<float>(cells);
    };
    if (centres.size() + static_cast<size_t>(cells * cells * grid.each) > most_anchors)
      fail(Code::refused, "more than ", most_anchors, " anchors");
    for (int64_t y = 0; y < cells; ++y) {
      for (int64_t x = 0; x < cells; ++x) {
        centres.insert(centres.end(), static_cast<size_t>(grid.each), {middle(x), middle(y)});
      }
    }
  }
  return centres;
}

std::vector<Figure> AnchorDecoder::decode(std::span<const float> boxes,
                                          std::span<const float> scores) const {
  const size_t width = 4 + 2 * points;
  std::vector<Figure> found;
  for (size_t i = 0; i < centres.size(); ++i) {
    const float score = 1 / (1 + std::exp(-std::clamp(scores[i], -100.0F, 100.0F)));
    const float* box = boxes.data() + i * width;
    if (score < threshold || box[2] < 0 || box[3] < 0) continue;
    const auto x = [&](float offset) { return double{offset / side + centres[i][0]}; };
    const auto y = [&](float offset) { return double{offset / side + centres[i][1]}; };
    Figure figure{.left = x(box[0] - box[2] / 2),
                  .top = y(box[1] - box[3] / 2),
                  .right = x(box[0] + box[2] / 2),
                  .bottom = y(box[1] + box[3] / 2),
                  .score = score,
                  .points = {}};
    for (size_t p = 4; p < width; p += 2)
      figure.points.push_back({x(box[p]), y(box[p + 1]), {}, {}});
    found.push_back(std::move(figure));
  }
  return found;
}

std::vector<Figure> merged(std::vector<Figure> found, double overlap) {
  std::stable_sort(found.begin(), found.end(),
                   [](const Figure& a, const Figure& b) { return a.score > b.score; });
  std::vector<Figure> kept;
  for (std::span<Figure> left = found; !left.empty();) {
    const Figure best = left.front();
    const auto rest = std::stable_partition(left.begin() + 1, left.end(), [&](const Figure& f) {
      return overlap_of(best, f) > overlap;
    });
    const size_t count = static_cast<size_t>(rest - left.begin());
    kept.push_back(mean_of(left.first(count)));
    left = left.subspan(count);
  }
  return kept;
}

/// preprocess: those of CropNetwork. postprocess: grids, a list of {"stride", "each"}; points of a
/// box; threshold of scores; overlap of boxes that become one. Network "detect" gives the boxes and
/// the scores.
FigureFinder make_anchor_finder(Module& module, Fields& pre, Fields& post) {
  CropNetwork network(module, "detect", pre);
  std::vector<AnchorGrid> grids;
  for (const json& entry : post.list("grids", 16)) {
    Fields grid(entry, post.where() + ": grids");
    grids.push_back({grid.integer("stride", 1, 256), grid.integer("each", 1, 64)});
    grid.done();
  }
  AnchorDecoder decoder{anchor_centres(network.size(), grids), static_cast<float>(network.size()),
                        static_cast<size_t>(post.integer("points", 0, 64)),
                        static_cast<float>(post.number("threshold"))};
  const double overlap = post.number("overlap");
  if (!(decoder.threshold > 0 && decoder.threshold <= 1))
    post.refuse("threshold", "is not above 0 and up to 1");
  if (!(overlap >= 0 && overlap <= 1)) post.refuse("overlap", "is not within 0 to 1");
  return AnchorFinder(std::move(network), std::move(decoder), overlap);
}

}  // namespace hub
