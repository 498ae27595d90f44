// Reading the text in a picture: one network finds the lines, one tells which stand on their head,
// one reads them. In sizes, order and thresholds as RapidOCR 1.4.4 does it.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/error.h"
#include "hub/fields.h"
#include "modules/ctc.h"
#include "modules/db_postprocess.h"
#include "modules/draw.h"
#include "modules/geometry.h"
#include "modules/module.h"
#include "modules/pixels.h"

namespace hub {
namespace {

constexpr int longest = 2000, shortest = 30;  // sides of the picture that is worked on
constexpr int widest =
    8;  // a wider picture gets black above and below, a taller one is enlarged less
constexpr size_t batch_lines = 6;

/// The picture that is worked on, and the way back to the original: x * x_scale, (y - top) *
/// y_scale.
struct Frame {
  Image image;
  double x_scale = 1, y_scale = 1;
  int top = 0;
};

Image resized(const Image& image, double scale, int multiple) {
  const auto side = [&](int length) {
    return std::max(1, static_cast<int>(std::nearbyint(std::floor(length * scale) / multiple))) *
           multiple;
  };
  const int width = side(image.width), height = side(image.height);
  return width == image.width && height == image.height ? image
                                                        : resize_opencv(image, width, height);
}

Image with_black(const Image& image, int above_and_below) {
  Image out{image.width, image.height + 2 * above_and_below, image.channels, {}};
  out.pixels.resize(static_cast<size_t>(out.width) * out.height * out.channels);
  std::copy(image.pixels.begin(), image.pixels.end(), out.row(above_and_below));
  return out;
}

Frame frame_of(const Image& original, int multiple) {
  Frame frame{original};
  Image& image = frame.image;
  if (const int most = std::max(image.width, image.height); most > longest) {
    image = resized(image, static_cast<double>(longest) / most, multiple);
  }
  if (const int least = std::min(image.width, image.height); least < shortest) {
    image = resized(image, static_cast<double>(shortest) / least, multiple);
  }
  frame.x_scale = static_cast<double>(original.width) / image.width;
  frame.y_scale = static_cast<double>(original.height) / image.height;
  if (image.height <= shortest || image.width > widest * image.height) {
    frame.top = std::abs(std::max(image.width / widest, shortest) * 2 - image.height) / 2;
    image = with_black(image, frame.top);
  }
  return frame;
}

Image cut_out(const Image& image, const Quad& box) {
  const int width = static_cast<int>(std::max(distance(box[0], box[1]), distance(box[2], box[3])));
  const int height = static_cast<int>(std::max(distance(box[0], box[3]), distance(box[1], box[2])));
  Image line = warp(image, box, width, height);
  return 2 * height >= 3 * width ? turned_left(line) : line;
}

double aspect(const Image& image) { return static_cast<double>(image.width) / image.height; }

class Ocr final : public Task {
 public:
  explicit Ocr(Module& module);
  InputKind input() const override { return InputKind::image; }
  std::vector<json> predict(std::span<const Sample> samples, const RunOptions& options) override;
  Image draw(const Sample& sample, const json& output) const override;

 private:
  json read(const Image& image);
  std::vector<Quad> find_lines(const Image& image);
  void turn_upright(std::vector<Image>& lines);
  std::vector<CtcText> read_lines(const std::vector<Image>& lines);
  Tensor run(const std::string& network, const Tensor& pixels, const Shape& wanted);

  struct Size {
    int width = 0, height = 0;
  };
  Module& module_;
  PixelRule pixels_;
  int shorter_ = 0, multiple_ = 0;
  Size classify_, recognise_;
  DbOptions boxes_;
  double turn_threshold_ = 0, text_threshold_ = 0;
  std::unique_ptr<CtcCharacters> characters_;
};

Ocr::Ocr(Module& module) : module_(module) {
  const Manifest& manifest = module.manifest();
  const std::string where = manifest.id() + ": preprocess";
  Fields pre(manifest.preprocess, where);
  pixels_ = PixelRule(pre);
  const auto part = [&](const char* key) {
    return Fields(pre.object(key), concat(where, ": ", key));
  };
  Fields detect = part("detect");
  shorter_ = static_cast<int>(detect.integer("shorter", 32, 4096));
  multiple_ = static_cast<int>(detect.integer("multiple", 1, 256));
  detect.done();
  const auto size = [&](const char* key) {
    Fields fields = part(key);
    const Size read{static_cast<int>(fields.integer("width", 8, 4096)),
                    static_cast<int>(fields.integer("height", 8, 512))};
    fields.done();
    return read;
  };
  classify_ = size("classify");
  recognise_ = size("recognise");
  pre.done();

  Fields post(manifest.postprocess, manifest.id() + ": postprocess");
  const RelPath keys = post.path("characters");
  boxes_ = {post.number("threshold"), post.number("box_threshold"), post.number("unclip")};
  turn_threshold_ = post.number("turn_threshold");
  text_threshold_ = post.number("text_threshold");
  post.done();
  if (!(boxes_.unclip > 0 && boxes_.unclip <= 10)) post.refuse("unclip", "is not within 0 to 10");
  characters_ = std::make_unique<CtcCharacters>(module.files().open(keys).text(),
                                                concat(manifest.id(), ": ", keys.str()));
}

std::vector<json> Ocr::predict(std::span<const Sample> samples, const RunOptions&) {
  std::vector<json> results;
  for (const Sample& sample : samples)
    results.push_back(within(sample.name, [&] { return read(sample.image); }));
  return results;
}

json Ocr::read(const Image& original) {
  const Frame frame = frame_of(original, multiple_);
  const std::vector<Quad> boxes = find_lines(frame.image);
  std::vector<Image> lines;
  for (const Quad& box : boxes) lines.push_back(cut_out(frame.image, box));
  turn_upright(lines);
  const std::vector<CtcText> texts = read_lines(lines);

  json found = json::array();
  for (size_t i = 0; i < boxes.size(); ++i) {
    if (texts[i].score < text_threshold_ || texts[i].text.empty()) continue;
    json polygon = json::array();
    for (const Point p : boxes[i]) {
      polygon.push_back({std::clamp(p.x * frame.x_scale, 0.0, static_cast<double>(original.width)),
                         std::clamp((p.y - frame.top) * frame.y_scale, 0.0,
                                    static_cast<double>(original.height))});
    }
    found.push_back(
        {{"text", texts[i].text}, {"score", texts[i].score}, {"polygon", std::move(polygon)}});
  }
  return {{"lines", std::move(found)}};
}

std::vector<Quad> Ocr::find_lines(const Image& image) {
  const double least = std::min(image.width, image.height),
               most = std::max(image.width, image.height);
  const double scale = std::max(1.0, std::min(shorter_ / least, shorter_ * widest / most));
  const Image input = resized(image, scale, multiple_);
  Tensor pixels(DType::f32, {1, 3, input.height, input.width});
  pixels_.put(input, pixels.data<float>(), input.width, input.height);
  const Tensor map = run("detect", pixels, {1, 1, input.height, input.width});
  return text_boxes(map.values<float>(), input.width, input.height, image.width, image.height,
                    boxes_);
}

void Ocr::turn_upright(std::vector<Image>& lines) {
  const auto [width, height] = classify_;
  for (size_t begin = 0; begin < lines.size(); begin += batch_lines) {
    const size_t count = std::min(batch_lines, lines.size() - begin);
    const auto rows = static_cast<int64_t>(count);
    Tensor pixels(DType::f32, {rows, 3, height, width});
    for (size_t i = 0; i < count; ++i) {
      const Image& line = lines[begin + i];
      const int shown = static_cast<int>(std::min<double>(width, std::ceil(height * aspect(line))));
      pixels_.put(resize_opencv(line, shown, height),
                  pixels.data<float>() + i * 3 * static_cast<size_t>(width * height), width,
                  height);
    }
    const Tensor scores = run("classify", pixels, {rows, 2});
    for (size_t i = 0; i < count; ++i) {
      const float *upright = scores.data<float>() + 2 * i, *turned = upright + 1;
      if (*turned > *upright && *turned > turn_threshold_)
        lines[begin + i] = turned_over(lines[begin + i]);
    }
  }
}

std::vector<CtcText> Ocr::read_lines(const std::vector<Image>& lines) {
  std::vector<size_t> order(
      lines.size());  // lines of like shape go together and are padded to the widest
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return aspect(lines[a]) < aspect(lines[b]); });
  const int height = recognise_.height;
  std::vector<CtcText> texts(lines.size());
  for (size_t begin = 0; begin < lines.size(); begin += batch_lines) {
    const auto batch = std::span(order).subspan(begin, std::min(batch_lines, lines.size() - begin));
    const auto rows = static_cast<int64_t>(batch.size());
    const double widest_line =
        std::max(static_cast<double>(recognise_.width) / height, aspect(lines[batch.back()]));
    const int width = static_cast<int>(height * widest_line);
    Tensor pixels(DType::f32, {rows, 3, height, width});
    for (size_t i = 0; i < batch.size(); ++i) {
      const Image& line = lines[batch[i]];
      const int shown = static_cast<int>(std::min<double>(width, std::ceil(height * aspect(line))));
      pixels_.put(resize_opencv(line, shown, height),
                  pixels.data<float>() + i * 3 * static_cast<size_t>(width * height), width,
                  height);
    }
    const Tensor scores =
        run("recognise", pixels, {rows, -1, static_cast<int64_t>(characters_->classes())});
    const size_t size = static_cast<size_t>(scores.numel() / rows);
    for (size_t i = 0; i < batch.size(); ++i)
      texts[batch[i]] = characters_->decode(scores.values<float>().subspan(i * size, size));
  }
  return texts;
}

/// The only output of a network, which has the wanted shape (-1: any) and numbers in it.
Tensor Ocr::run(const std::string& network, const Tensor& pixels, const Shape& wanted) {
  const Tensor output = module_.network(network).run({pixels}).at(0);
  bool fits = output.dtype() == DType::f32 && output.shape().rank() == wanted.rank();
  for (size_t i = 0; fits && i < wanted.rank(); ++i)
    fits = wanted[i] == -1 || wanted[i] == output.shape()[i];
  const std::string where = concat(module_.manifest().id(), ": network '", network, "'");
  if (!fits)
    fail(Code::refused, where, " gives ", output.spec().str(), ", wanted float32", wanted.str());
  for (const float value : output.values<float>()) {
    if (!std::isfinite(value)) fail(Code::numeric, where, " gave a value that is not a number");
  }
  return output;
}

Image Ocr::draw(const Sample& sample, const json& output) const {
  constexpr Colour colour = {255, 0, 60};
  Image picture = sample.image;
  for (const json& line : output.at("lines")) {
    const auto corners = line.at("polygon").get<std::vector<std::array<double, 2>>>();
    for (size_t i = 0; i < corners.size(); ++i) {
      const auto [x0, y0] = corners[i];
      const auto [x1, y1] = corners[(i + 1) % corners.size()];
      draw_line(picture, x0, y0, x1, y1, colour, 2);
    }
  }
  return picture;
}

}  // namespace

std::unique_ptr<Task> make_ocr(Module& module) { return std::make_unique<Ocr>(module); }

}  // namespace hub
