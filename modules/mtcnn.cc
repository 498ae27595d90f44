// MTCNN's way from a picture to faces (Zhang et al. 2016, arXiv:1604.02878), in numbers as
// facenet-pytorch 2.6.0: "propose" looks at squares of 12 pixels in a pyramid of the picture,
// "refine" at each square that is left, "output" at those that are left then.
#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "modules/figure.h"
#include "modules/module.h"

namespace hub {
namespace {

constexpr int cell = 12, step = 2;     // of "propose"
constexpr size_t most_boxes = 10'000;  // of one picture of the pyramid, the best ones

struct Box {
  float left = 0, top = 0, right = 0, bottom = 0, score = 0;
  std::array<float, 4> move{};  ///< of the sides, in widths and heights
  std::array<float, 10> points{};
};

/// Means over the parts of the crop that fall into each pixel of the small picture; numbers as the
/// networks take them, in planes [3, height, width].
void shrink(const Image& image, int left, int top, int crop_width, int crop_height, int width,
            int height, float* planes) {
  const size_t plane = static_cast<size_t>(width) * static_cast<size_t>(height);
  const auto first = [](int64_t i, int from, int to) { return static_cast<int>(i * from / to); };
  const auto last = [](int64_t i, int from, int to) {
    return static_cast<int>(((i + 1) * from + to - 1) / to);
  };
  for (int y = 0; y < height; ++y) {
    const int y0 = top + first(y, crop_height, height), y1 = top + last(y, crop_height, height);
    for (int x = 0; x < width; ++x, ++planes) {
      const int x0 = left + first(x, crop_width, width), x1 = left + last(x, crop_width, width);
      std::array<int64_t, 3> sums{};
      for (int row = y0; row < y1; ++row) {
        const uint8_t* pixel = image.row(row) + 3 * x0;
        for (int column = x0; column < x1; ++column, pixel += 3) {
          for (size_t c = 0; c < 3; ++c) sums[c] += pixel[c];
        }
      }
      const int64_t count = static_cast<int64_t>(y1 - y0) * (x1 - x0);
      for (size_t c = 0; c < 3; ++c) {
        const double mean = static_cast<double>(sums[c]) / static_cast<double>(count);
        planes[c * plane] = static_cast<float>((mean - 127.5) * 0.0078125);
      }
    }
  }
}

/// Best first; of boxes that overlap by more than `overlap` the best stays. Overlap is intersection
/// over union or, `of_smaller`, over the smaller one, counted in whole pixels.
std::vector<Box> without_overlaps(std::vector<Box> boxes, float overlap, bool of_smaller = false) {
  std::stable_sort(boxes.begin(), boxes.end(),
                   [](const Box& a, const Box& b) { return a.score > b.score; });
  const float border = of_smaller ? 1 : 0;
  const auto side = [&](float from, float to) { return std::max(0.0F, to - from + border); };
  const auto area = [&](const Box& b) { return side(b.left, b.right) * side(b.top, b.bottom); };
  std::vector<Box> kept;
  for (const Box& b : boxes) {
    const bool covered = std::any_of(kept.begin(), kept.end(), [&](const Box& k) {
      const float both = side(std::max(b.left, k.left), std::min(b.right, k.right)) *
                         side(std::max(b.top, k.top), std::min(b.bottom, k.bottom));
      const float whole = of_smaller ? std::min(area(b), area(k)) : area(b) + area(k) - both;
      return both / whole > overlap;
    });
    if (!covered) kept.push_back(b);
  }
  return kept;
}

void move_sides(Box& b, float width, float height) {
  b.left += b.move[0] * width, b.top += b.move[1] * height;
  b.right += b.move[2] * width, b.bottom += b.move[3] * height;
}

/// As wide as high, around the same middle.
void make_square(Box& b) {
  const float width = b.right - b.left, height = b.bottom - b.top, side = std::max(width, height);
  b.left += width * 0.5F - side * 0.5F, b.top += height * 0.5F - side * 0.5F;
  b.right = b.left + side, b.bottom = b.top + side;
}

class MtcnnFinder {
 public:
  MtcnnFinder(Module& module, Fields& pre, Fields& post)
      : module_(&module),
        smallest_(pre.number("smallest")),
        factor_(pre.number("factor")),
        thresholds_(post.numbers("thresholds", 3)) {
    if (!(smallest_ >= cell && smallest_ <= 10'000))
      pre.refuse("smallest", concat("is not within ", cell, " to 10000 pixels"));
    if (!(factor_ >= 0.1 && factor_ <= 0.95)) pre.refuse("factor", "is not within 0.1 to 0.95");
  }

  std::vector<Figure> operator()(const Image& image) const {
    std::vector<Box> boxes = look_closer(image, propose(image), "refine", 24, 64, thresholds_[1]);
    boxes = without_overlaps(std::move(boxes), 0.7F);
    for (Box& b : boxes) {
      move_sides(b, b.right - b.left + 1, b.bottom - b.top + 1);
      make_square(b);
    }
    boxes = look_closer(image, boxes, "output", 48, 16, thresholds_[2]);
    std::vector<Figure> found;
    for (Box& b : boxes) {
      const float width = b.right - b.left + 1, height = b.bottom - b.top + 1;
      for (size_t i = 0; i < 5; ++i) {
        b.points[i] = width * b.points[i] + b.left - 1;
        b.points[i + 5] = height * b.points[i + 5] + b.top - 1;
      }
      move_sides(b, width, height);
    }
    for (const Box& b : without_overlaps(std::move(boxes), 0.7F, true)) {
      Figure figure{.left = b.left,
                    .top = b.top,
                    .right = b.right,
                    .bottom = b.bottom,
                    .score = b.score,
                    .points = {}};
      for (size_t i = 0; i < 5; ++i)
        figure.points.push_back({b.points[i], b.points[i + 5], {}, {}});
      found.push_back(std::move(figure));
    }
    return found;
  }

 private:
  std::vector<Box> propose(const Image& image) const {
    std::vector<Box> all;
    const int shorter = std::min(image.width, image.height);
    for (double scale = cell / smallest_; shorter * scale >= cell; scale *= factor_) {
      const std::vector<Box> found = without_overlaps(propose(image, scale), 0.5F);
      all.insert(all.end(), found.begin(), found.end());
    }
    all = without_overlaps(std::move(all), 0.7F);
    for (Box& b : all) {
      move_sides(b, b.right - b.left, b.bottom - b.top);
      make_square(b);
    }
    return all;
  }

  std::vector<Box> propose(const Image& image, double scale) const {
    const int width = static_cast<int>(image.width * scale + 1);
    const int height = static_cast<int>(image.height * scale + 1);
    Tensor input(DType::f32, {1, 3, height, width});
    shrink(image, 0, 0, image.width, image.height, width, height, input.data<float>());
    const std::vector<Tensor> outputs = module_->network("propose").run({input});
    const Shape shape = outputs.at(0).shape();
    if (shape.rank() != 4) refuse("propose", outputs[0], "float32[1, 2, rows, columns]");
    const int64_t rows = shape[2], columns = shape[3], places = rows * columns;
    const std::span<const float> scores = floats(outputs, 0, "propose", {1, 2, rows, columns});
    const std::span<const float> moves = floats(outputs, 1, "propose", {1, 4, rows, columns});
    const auto size = static_cast<float>(scale);
    const auto back = [&](int64_t place, int beyond) {
      return std::floor(static_cast<float>(step * place + beyond) / size);
    };
    std::vector<Box> boxes;
    for (int64_t i = 0; i < places; ++i) {
      const auto at = static_cast<size_t>(i), plane = static_cast<size_t>(places);
      const float score = scores[plane + at];
      if (score < static_cast<float>(thresholds_[0])) continue;
      Box box{.left = back(i % columns, 1),
              .top = back(i / columns, 1),
              .right = back(i % columns, cell),
              .bottom = back(i / columns, cell),
              .score = score};
      for (size_t k = 0; k < 4; ++k) box.move[k] = moves[k * plane + at];
      boxes.push_back(box);
    }
    if (boxes.size() > most_boxes) {
      std::stable_sort(boxes.begin(), boxes.end(),
                       [](const Box& a, const Box& b) { return a.score > b.score; });
      boxes.resize(most_boxes);
    }
    return boxes;
  }

  /// The boxes that the network takes for faces, `rows` pictures of side x side at a time.
  std::vector<Box> look_closer(const Image& image, const std::vector<Box>& boxes,
                               const std::string& network, int side, size_t rows,
                               double threshold) const {
    const auto count = static_cast<int64_t>(rows);
    const size_t picture = 3 * static_cast<size_t>(side) * static_cast<size_t>(side);
    Tensor input(DType::f32, {count, 3, side, side});
    std::vector<Box> passed;
    for (size_t next = 0; next < boxes.size();) {
      std::vector<Box> looked_at;
      for (; next < boxes.size() && looked_at.size() < rows; ++next) {
        const Box& b = boxes[next];
        const auto whole = [](float v) { return static_cast<int>(std::clamp(v, -1e8F, 1e8F)); };
        const int left = std::max(whole(b.left), 1) - 1, top = std::max(whole(b.top), 1) - 1;
        const int right = std::min(whole(b.right), image.width);
        const int bottom = std::min(whole(b.bottom), image.height);
        if (right <= left || bottom <= top) continue;
        shrink(image, left, top, right - left, bottom - top, side, side,
               input.data<float>() + looked_at.size() * picture);
        looked_at.push_back(b);
      }
      if (looked_at.empty()) break;
      std::fill(input.data<float>() + looked_at.size() * picture,
                input.data<float>() + rows * picture, 0.0F);
      const std::vector<Tensor> outputs = module_->network(network).run({input});
      const auto scores = floats(outputs, 0, network, {count, 2});
      const auto moves = floats(outputs, 1, network, {count, 4});
      const auto points =
          network == "output" ? floats(outputs, 2, network, {count, 10}) : std::span<const float>();
      for (size_t i = 0; i < looked_at.size(); ++i) {
        Box b = looked_at[i];
        b.score = scores[2 * i + 1];
        if (!(b.score > static_cast<float>(threshold))) continue;
        std::copy_n(moves.begin() + static_cast<std::ptrdiff_t>(4 * i), 4, b.move.begin());
        if (!points.empty())
          std::copy_n(points.begin() + static_cast<std::ptrdiff_t>(10 * i), 10, b.points.begin());
        passed.push_back(b);
      }
    }
    return passed;
  }

  std::span<const float> floats(const std::vector<Tensor>& outputs, size_t which,
                                const std::string& network, const Shape& wanted) const {
    if (which >= outputs.size()) {
      fail(Code::refused, module_->manifest().id(), ": network '", network, "' has ",
           outputs.size(), " outputs, wanted more than ", which);
    }
    const Tensor& output = outputs[which];
    if (output.dtype() != DType::f32 || output.shape() != wanted)
      refuse(network, output, "float32" + wanted.str());
    for (const float value : output.values<float>()) {
      if (!std::isfinite(value)) {
        fail(Code::numeric, module_->manifest().id(), ": network '", network,
             "' gave a value that is not a number");
      }
    }
    return output.values<float>();
  }

  [[noreturn]] void refuse(const std::string& network, const Tensor& output,
                           const std::string& wanted) const {
    fail(Code::refused, module_->manifest().id(), ": network '", network, "' gives ",
         output.spec().str(), ", wanted ", wanted);
  }

  Module* module_;
  double smallest_ = 0, factor_ = 0;
  std::vector<double> thresholds_;
};

}  // namespace

/// preprocess: smallest face in pixels; factor from one picture of the pyramid to the next.
/// postprocess: thresholds of the three scores. Networks "propose", "refine" and "output".
FigureFinder make_mtcnn_finder(Module& module, Fields& pre, Fields& post) {
  return MtcnnFinder(module, pre, post);
}

}  // namespace hub
