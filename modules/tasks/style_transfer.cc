// Style transfer: a picture painted anew. Either one network knows some styles by name (text_b of
// a sample: a name, or "name:weight,name:weight"; the first style without it), or a network
// "style" turns a picture in any style (image_b) into numbers for the network "main".
// preprocess: pixels.h, longest (side that larger pictures are shrunk to), shortest (below which
// they are refused) and either styles (names) and multiple (of which the network takes sides), or
// side and style_side of the squares that the two networks take, channels last.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text.h"
#include "hub/fields.h"
#include "modules/made_picture.h"
#include "modules/module.h"
#include "modules/pixels.h"

namespace hub {
namespace {

/// The picture with its right and bottom sides mirrored outwards, as NumPy's "reflect".
Image mirrored(const Image& image, int width, int height) {
  const auto inside = [](int i, int size) {
    const int period = std::max(1, 2 * (size - 1));
    return std::min(i % period, (period - i % period) % period);
  };
  Image out{.width = width, .height = height, .channels = 3, .pixels = {}};
  out.pixels.resize(size_t{3} * static_cast<size_t>(width) * static_cast<size_t>(height));
  for (int y = 0; y < height; ++y) {
    const uint8_t* from = image.row(inside(y, image.height));
    uint8_t* to = out.row(y);
    for (int x = 0; x < width; ++x) std::copy_n(from + 3 * inside(x, image.width), 3, to + 3 * x);
  }
  return out;
}

/// Both sides by one factor, halves to even as Python's round().
Image shrunk(const Image& image, int longest, int least) {
  const double scale = static_cast<double>(longest) / std::max(image.width, image.height);
  const auto side = [&](int size) {
    return std::max(least, static_cast<int>(std::nearbyint(size * scale)));
  };
  return resize_pillow(image, side(image.width), side(image.height), Filter::lanczos);
}

class StyleTransfer : public Task {
 public:
  explicit StyleTransfer(Module& module)
      : module_(module), pre_(module.manifest().preprocess, id() + ": preprocess") {
    pixels_ = PixelRule(pre_);
    longest_ = static_cast<int>(pre_.integer("longest", 8, 4096));
    shortest_ = static_cast<int>(pre_.integer("shortest", 1, 4096));
    Fields(module.manifest().postprocess, id() + ": postprocess").done();
  }
  InputKind input() const override { return InputKind::image; }
  std::vector<json> predict(std::span<const Sample> samples, const RunOptions& options) override {
    std::vector<json> results;
    for (const Sample& sample : samples) {
      Image image = painted(sample);
      results.push_back(picture_output(image));
      if (options.pictures != nullptr) options.pictures->push_back(std::move(image));
    }
    return results;
  }
  Image draw(const Sample& sample, const json&) const override { return painted(sample); }

 protected:
  std::string id() const { return module_.manifest().id(); }
  virtual Image painted(const Sample& sample) const = 0;

  /// At most `longest_` on a side.
  Image fitted(const Sample& sample) const {
    const Image& image = sample.image;
    if (std::min(image.width, image.height) < shortest_)
      fail(Code::refused, sample.name, " has ", image.width, "x", image.height,
           " pixels; each side must have ", shortest_, " at least");
    if (std::max(image.width, image.height) <= longest_) return image;
    return shrunk(image, longest_, shortest_);
  }

  Module& module_;
  Fields pre_;
  PixelRule pixels_;
  int longest_ = 0, shortest_ = 0;
};

class KnownStyles final : public StyleTransfer {
 public:
  explicit KnownStyles(Module& module) : StyleTransfer(module) {
    styles_ = pre_.strings("styles");
    if (styles_.empty()) pre_.refuse("styles", "names none");
    multiple_ = static_cast<int>(pre_.integer("multiple", 1, 256));
    pre_.done();
  }

 private:
  Image painted(const Sample& sample) const override {
    Image image = fitted(sample);
    const auto up = [&](int size) { return (size + multiple_ - 1) / multiple_ * multiple_; };
    const int width = up(image.width), height = up(image.height);
    Tensor in(DType::f32, {1, 3, height, width});
    pixels_.put(mirrored(image, width, height), in.data<float>(), width, height);
    const Tensor out = module_.network("main").run({in, weights(sample.text_b)}).at(0);
    put_numbers(planes_of(out, width, height, id()), image, {0, 0, image.width, image.height},
                sample.name);
    return image;
  }

  /// One number a style; their sum is 1.
  Tensor weights(const std::string& chosen) const {
    Tensor all(DType::f32, {static_cast<int64_t>(styles_.size())});
    std::fill_n(all.data<float>(), styles_.size(), 0.0F);
    double sum = 0;
    for (const std::string_view part : split(chosen.empty() ? styles_[0] : chosen, ',')) {
      const size_t colon = part.rfind(':');
      const std::string name(trim(part.substr(0, colon)));
      const auto style = std::find(styles_.begin(), styles_.end(), name);
      if (style == styles_.end())
        fail(Code::usage, id(), " has no style '", printable(name), "'; it has ", one_of(styles_));
      double weight = 1;
      if (colon != std::string_view::npos) {
        const std::string_view text = trim(part.substr(colon + 1));
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), weight);
        if (error != std::errc() || end != text.data() + text.size() || !(weight > 0) ||
            weight > 1e6)
          fail(Code::usage, "style ", printable(name), " has the weight '", printable(text),
               "'; a number above 0 is wanted");
      }
      all.data<float>()[style - styles_.begin()] += static_cast<float>(weight);
      sum += weight;
    }
    for (size_t i = 0; i < styles_.size(); ++i) all.data<float>()[i] /= static_cast<float>(sum);
    return all;
  }

  std::vector<std::string> styles_;
  int multiple_ = 1;
};

class AnyStyle final : public StyleTransfer {
 public:
  explicit AnyStyle(Module& module) : StyleTransfer(module) {
    side_ = static_cast<int>(pre_.integer("side", 8, 4096));
    style_side_ = static_cast<int>(pre_.integer("style_side", 8, 4096));
    pre_.done();
  }
  InputKind second() const override { return InputKind::image; }

 private:
  Image painted(const Sample& sample) const override {
    if (sample.image_b.pixels.empty())
      fail(Code::usage, sample.name, ": ", id(),
           " wants a second picture, in whose style it paints this one: --second PICTURE");
    const Image image = fitted(sample);
    Image small = shrunk(image, side_, 1);
    const Tensor out = module_.network("main")
                           .run({numbers(mirrored(small, side_, side_)), style(sample.image_b)})
                           .at(0);
    put_numbers(interleaved_of(out, side_, side_, id()), small, {0, 0, small.width, small.height},
                sample.name);
    return resize_pillow(small, image.width, image.height, Filter::lanczos);
  }

  /// What the middle of a picture looks like, in numbers.
  Tensor style(const Image& image) const {
    const int side = std::min(image.width, image.height);
    const Image middle =
        crop(image, (image.width - side) / 2, (image.height - side) / 2, side, side);
    const Image small = resize_pillow(middle, style_side_, style_side_, Filter::lanczos);
    return module_.network("style").run({numbers(small)}).at(0);
  }

  Tensor numbers(const Image& square) const {
    Tensor in(DType::f32, {1, square.height, square.width, 3});
    pixels_.put_interleaved(square, in.data<float>());
    return in;
  }

  int side_ = 0, style_side_ = 0;
};

}  // namespace

std::unique_ptr<Task> make_style_transfer(Module& module) {
  if (module.manifest().networks.contains("style")) return std::make_unique<AnyStyle>(module);
  return std::make_unique<KnownStyles>(module);
}

}  // namespace hub
