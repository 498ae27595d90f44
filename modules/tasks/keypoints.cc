// Key points: faces, hands and bodies in a picture and the points of each. A finder says where they
// are (figure.h); where the module has a network "points", that looks closer at each (region.h,
// point_reader.h). preprocess: detect, points; postprocess: finder, labels, names of the points,
// lines to draw between them (lists of their numbers), detect, region, points.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "hub/fields.h"
#include "modules/draw.h"
#include "modules/point_reader.h"

namespace hub {
namespace {

constexpr size_t most_points = 4096;

class Keypoints final : public Task {
 public:
  explicit Keypoints(Module& module);
  InputKind input() const override { return InputKind::image; }
  std::vector<json> predict(std::span<const Sample> samples, const RunOptions& options) override;
  Image draw(const Sample& sample, const json& output) const override;

 private:
  std::vector<Figure> look(const Image& image) const;
  json written(const Figure& figure, const Image& image) const;
  void draw_figure(Image& picture, const json& figure, Colour colour) const;

  FigureFinder find_;
  RegionRule region_;
  std::optional<PointReader> points_;
  std::vector<std::string> labels_, names_;
  std::vector<std::vector<size_t>> lines_;
};

Keypoints::Keypoints(Module& module) {
  const Manifest& manifest = module.manifest();
  const std::string before = manifest.id() + ": preprocess",
                    behind = manifest.id() + ": postprocess";
  Fields pre(manifest.preprocess, before), post(manifest.postprocess, behind);
  Fields find_pre(pre.object("detect"), before + ": detect");
  Fields find_post(post.object("detect"), behind + ": detect");
  std::vector<std::string> finders;
  for (const NamedFinder& finder : figure_finders) finders.emplace_back(finder.name);
  const std::string name = post.choice("finder", finders);
  for (const NamedFinder& finder : figure_finders) {
    if (finder.name == name) find_ = finder.make(module, find_pre, find_post);
  }
  find_pre.done();
  find_post.done();
  if (manifest.networks.contains("points")) {
    Fields region(post.object("region"), behind + ": region");
    region_ = RegionRule(region);
    region.done();
    Fields points_pre(pre.object("points"), before + ": points");
    Fields points_post(post.object("points"), behind + ": points");
    points_.emplace(module, points_pre, points_post);
    points_pre.done();
    points_post.done();
  }
  labels_ = post.strings("labels");
  if (const size_t wanted = points_ && points_->two_sided() ? 2 : 1; labels_.size() != wanted)
    post.refuse("labels", concat("has ", labels_.size(), " words, wanted ", wanted));
  names_ = post.strings("names");
  for (const json& line : post.list("lines", most_points)) {
    std::vector<size_t>& numbers = lines_.emplace_back();
    for (const json& number : line) {
      if (!number.is_number_unsigned() || number >= most_points)
        post.refuse("lines", "is not a list of lists of numbers of points");
      numbers.push_back(number);
    }
  }
  pre.done();
  post.done();
}

std::vector<json> Keypoints::predict(std::span<const Sample> samples, const RunOptions&) {
  std::vector<json> results;
  for (const Sample& sample : samples) {
    json list = json::array();
    for (const Figure& figure : within(sample.name, [&] { return look(sample.image); }))
      list.push_back(written(figure, sample.image));
    results.push_back({{"objects", std::move(list)}});
  }
  return results;
}

std::vector<Figure> Keypoints::look(const Image& image) const {
  std::vector<Figure> found = find_(image);
  if (!points_) return found;
  std::vector<Figure> closer;
  for (const Region& region : region_.regions(found)) {
    if (auto figure = points_->read(image, region)) closer.push_back(std::move(*figure));
  }
  std::stable_sort(closer.begin(), closer.end(),
                   [](const Figure& a, const Figure& b) { return a.score > b.score; });
  return closer;
}

/// The box ends at the picture's border; a point is where it is thought to be, even outside.
json Keypoints::written(const Figure& figure, const Image& image) const {
  const double left = std::clamp(figure.left, 0.0, static_cast<double>(image.width));
  const double right = std::clamp(figure.right, left, static_cast<double>(image.width));
  const double top = std::clamp(figure.top, 0.0, static_cast<double>(image.height));
  const double bottom = std::clamp(figure.bottom, top, static_cast<double>(image.height));
  json points = json::array();
  for (size_t i = 0; i < figure.points.size(); ++i) {
    const KeyPoint& p = figure.points[i];
    json point = {{"x", p.x}, {"y", p.y}};
    if (i < names_.size()) point["name"] = names_[i];
    if (p.z) point["z"] = *p.z;
    if (p.visibility) point["visibility"] = *p.visibility;
    points.push_back(std::move(point));
  }
  return {{"label", labels_[figure.label]},
          {"score", figure.score},
          {"box", {left, top, right - left, bottom - top}},
          {"keypoints", std::move(points)}};
}

Image Keypoints::draw(const Sample& sample, const json& output) const {
  Image picture = sample.image;
  size_t number = 0;
  for (const json& figure : output.at("objects")) draw_figure(picture, figure, colour_of(number++));
  return picture;
}

/// Lines have a colour each and stand for the box; without any, box and points are of `colour`.
void Keypoints::draw_figure(Image& picture, const json& figure, Colour colour) const {
  constexpr Colour white = {255, 255, 255};
  constexpr double seen = 0.5;
  const json& points = figure.at("keypoints");
  const auto box = figure.at("box").get<std::array<double, 4>>();
  const double extent = std::sqrt(std::max(1.0, box[2] * box[3]));
  const double radius = std::clamp(
      extent / (14 * std::sqrt(static_cast<double>(points.size()) + 1)), 0.9, extent / 20 + 1);
  std::vector<std::optional<std::array<double, 2>>> places;
  for (const json& p : points) {
    const bool shown = p.value("visibility", 1.0) >= seen;
    places.push_back(shown ? std::optional(std::array<double, 2>{p.at("x"), p.at("y")})
                           : std::nullopt);
  }
  if (lines_.empty() || labels_.size() > 1) {
    const int thick = std::max(2, std::min(picture.width, picture.height) / 300);
    const auto percent = static_cast<int>(100 * figure.at("score").get<double>() + 0.5);
    if (lines_.empty())
      draw_box(picture, box[0], box[1], box[0] + box[2], box[1] + box[3], colour, thick);
    draw_label(picture, box[0], box[1], concat(std::string(figure.at("label")), " ", percent, "%"),
               colour, std::max(1, thick - thick / 3));
  }
  std::vector<Colour> colours(places.size(), colour);
  const bool dense = radius < 2;  // many points on little room: small ones, under the lines
  const auto dots = [&] {
    for (size_t i = 0; i < places.size(); ++i) {
      if (!places[i]) continue;
      const auto [x, y] = *places[i];
      if (!dense) draw_stroke(picture, x, y, x, y, white, 2 * radius + 1.5);
      draw_stroke(picture, x, y, x, y, colours[i], 2 * radius);
    }
  };
  if (dense) dots();
  for (size_t k = 0; k < lines_.size(); ++k) {
    const Colour line_colour = colour_of(k);
    for (size_t i = 0; i < lines_[k].size(); ++i) {
      const size_t to = lines_[k][i], from = i == 0 ? to : lines_[k][i - 1];
      if (to >= places.size() || from >= places.size()) continue;
      colours[to] = line_colour;
      if (!places[from] || !places[to] || from == to) continue;
      draw_stroke(picture, (*places[from])[0], (*places[from])[1], (*places[to])[0],
                  (*places[to])[1], line_colour, std::max(1.4, 1.3 * radius));
    }
  }
  if (!dense) dots();
}

}  // namespace

std::unique_ptr<Task> make_keypoints(Module& module) { return std::make_unique<Keypoints>(module); }

}  // namespace hub
