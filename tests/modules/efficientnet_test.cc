// EfficientNet-Lite0 of the default registry against the logits of the package's own code in torch.
#include <catch2/catch.hpp>
#include <cmath>

#include "base/file.h"
#include "modules/image.h"
#include "tests/modules/default_module.h"

namespace hub {

TEST_CASE("the logits of a picture are those of the framework the model came from") {
  Silent silent;
  const auto module = default_module("efficientnet-lite0", silent);
  const std::string path =
      std::string(HUB_SOURCE_DIR) + "/registry/efficientnet-lite0/examples/chelsea.png";
  const Image whole = decode_image(read_file(path), path, silent);  // 451 x 300
  const Image small = resize_pillow(whole, 384, 256, Filter::bicubic);
  const Image image = crop(small, 80, 16, 224, 224);
  Tensor x(DType::f32, {1, 3, 224, 224});
  for (int c = 0; c < 3; ++c) {
    for (int i = 0; i < 224 * 224; ++i) {
      x.data<float>()[c * 224 * 224 + i] =
          (static_cast<float>(image.pixels[3 * i + c]) - 127) / 128;
    }
  }
  const Tensor wanted = read_npy(MappedFile::open(std::string(HUB_SOURCE_DIR) +
                                                  "/tests/data/efficientnet/chelsea_logits.npy"));
  const Tensor got = module->network("main").run({x}).at(0);
  REQUIRE(got.numel() == wanted.numel());
  double worst = 0;
  for (int64_t i = 0; i < got.numel(); ++i) {
    worst = std::max(
        worst, std::fabs(static_cast<double>(got.data<float>()[i]) - wanted.data<float>()[i]));
  }
  CHECK(worst < 1e-4);
}

}  // namespace hub
