// Super-resolution: a picture several times as large, with details that a network makes up; large
// pictures in tiles that overlap. Transparency is kept, enlarged as Pillow does it (bicubic).
// preprocess: pixels.h, tile (side of what the network takes at a time), overlap (how far into a
// tile its borders are felt: what is further in is as in the whole picture); postprocess: scale.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "hub/fields.h"
#include "modules/made_picture.h"
#include "modules/module.h"
#include "modules/pixels.h"

namespace hub {
namespace {

/// One direction of a tile: what the network sees and, of that, what is used of its answer.
struct Stretch {
  int start, size, from, to;
};

class SuperResolution final : public Task {
 public:
  explicit SuperResolution(Module& module);
  InputKind input() const override { return InputKind::image; }
  Alpha alpha() const override { return Alpha::keep; }
  std::vector<json> predict(std::span<const Sample> samples, const RunOptions& options) override;
  Image draw(const Sample& sample, const json&) const override { return enlarged(sample); }

 private:
  Image enlarged(const Sample& sample) const;
  std::vector<Stretch> stretches(int length) const;
  void tile(const Sample& sample, const Stretch& x, const Stretch& y, Image& to) const;

  Module& module_;
  PixelRule pixels_;
  int tile_ = 0, overlap_ = 0, scale_ = 0;
};

SuperResolution::SuperResolution(Module& module) : module_(module) {
  Fields pre(module.manifest().preprocess, module.manifest().id() + ": preprocess");
  pixels_ = PixelRule(pre);
  tile_ = static_cast<int>(pre.integer("tile", 16, 4096));
  overlap_ = static_cast<int>(pre.integer("overlap", 0, 1024));
  if (2 * overlap_ >= tile_) pre.refuse("overlap", "leaves nothing of a tile");
  pre.done();
  Fields post(module.manifest().postprocess, module.manifest().id() + ": postprocess");
  scale_ = static_cast<int>(post.integer("scale", 1, 16));
  post.done();
}

/// Tiles of one size, the last of them at the end of the picture.
std::vector<Stretch> SuperResolution::stretches(int length) const {
  const int size = std::min(tile_, length);
  std::vector<Stretch> all;
  for (int start = 0;; start = std::min(start + size - 2 * overlap_, length - size)) {
    if (!all.empty()) all.back().to = start + overlap_;
    all.push_back({start, size, all.empty() ? 0 : start + overlap_, length});
    if (start + size == length) return all;
  }
}

void SuperResolution::tile(const Sample& sample, const Stretch& x, const Stretch& y,
                           Image& to) const {
  Image part = crop(sample.image, x.start, y.start, x.size, y.size);
  if (part.channels == 4) {
    for (size_t i = 0, k = 0; i < part.pixels.size(); ++i)
      if (i % 4 != 3) part.pixels[k++] = part.pixels[i];
    part.channels = 3;
  }
  Tensor in(DType::f32, {1, 3, y.size, x.size});
  pixels_.put(part, in.data<float>(), x.size, y.size);
  const Tensor out = module_.network("main").run({in}).at(0);
  PictureNumbers numbers =
      planes_of(out, x.size * scale_, y.size * scale_, module_.manifest().id());
  numbers.first += static_cast<size_t>((y.from - y.start) * scale_) * numbers.row +
                   static_cast<size_t>((x.from - x.start) * scale_);
  put_numbers(
      numbers, to,
      {x.from * scale_, y.from * scale_, (x.to - x.from) * scale_, (y.to - y.from) * scale_},
      sample.name);
}

Image SuperResolution::enlarged(const Sample& sample) const {
  const Image& image = sample.image;
  constexpr int64_t most = int64_t{1} << 28;
  const int64_t width = int64_t{image.width} * scale_, height = int64_t{image.height} * scale_;
  if (width * height > most)
    fail(Code::refused, sample.name, ": ", width, "x", height,
         " pixels would come out, above the limit of ", most, "; shrink it or cut it first");
  Image large{.width = static_cast<int>(width),
              .height = static_cast<int>(height),
              .channels = image.channels,
              .pixels = {}};
  large.pixels.resize(static_cast<size_t>(width * height) * static_cast<size_t>(image.channels));
  for (const Stretch& y : stretches(image.height))
    for (const Stretch& x : stretches(image.width)) tile(sample, x, y, large);
  if (image.channels == 4) {
    const Image alpha = resize_pillow(image, large.width, large.height, Filter::bicubic);
    for (size_t i = 3; i < large.pixels.size(); i += 4) large.pixels[i] = alpha.pixels[i];
  }
  return large;
}

std::vector<json> SuperResolution::predict(std::span<const Sample> samples,
                                           const RunOptions& options) {
  std::vector<json> results;
  for (const Sample& sample : samples) {
    Image large = enlarged(sample);
    results.push_back(picture_output(large));
    if (options.pictures != nullptr) options.pictures->push_back(std::move(large));
  }
  return results;
}

}  // namespace

std::unique_ptr<Task> make_super_resolution(Module& module) {
  return std::make_unique<SuperResolution>(module);
}

}  // namespace hub
