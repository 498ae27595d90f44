// depth_to_space, out of blocked layout or the plain one.
#include <cstring>

#include "runtime/device/onednn/onednn.h"

namespace hub::onednn {

std::optional<Prepared> prepare_depth_to_space(const OpCall& call, std::span<const Operand> in,
                                               std::span<const Spec> out) {
  if (!all_float(in, out)) return {};
  const Shape& x = in[0].spec.shape;
  const Shape& y = out[0].shape;
  const bool from_blocked = is_image_layout(x, in[0].layout);
  if (in[0].layout && !from_blocked) return {};
  const int64_t side = call.attrs.i("blocksize");
  const bool depth_first = call.attrs.s("mode", "DCR") == "DCR";
  const int64_t block = channel_block();
  const int64_t channels = y[1];
  // A result of few channels would be mostly padding in blocks.
  const bool blocked = channels * 2 > block;
  const int64_t from_block = from_blocked ? block : 1;
  const int64_t from_blocks = (x[1] + from_block - 1) / from_block;
  const int64_t to_blocks = (channels + block - 1) / block;
  Prepared p;
  p.in = {in[0].layout};
  p.out = {blocked ? image_layout(y) : nullptr};
  p.how = "loop";
  p.bind = [=, images = x[0], height = x[2], width = x[3]](const Places& at) -> Step {
    const auto* from = static_cast<const float*>(at.in[0]);
    auto* to = static_cast<float*>(at.out[0]);
    auto source = [=](int64_t c,
                      int64_t k) {  // channel of x that holds channel c of pixel k of a window
      return depth_first ? k * channels + c : c * side * side + k;
    };
    return [=] {
#pragma omp parallel for collapse(2)
      for (int64_t n = 0; n < images; ++n) {
        for (int64_t r = 0; r < height * side; ++r) {
          for (int64_t k = 0; k < side; ++k) {
            const int64_t pixel = r % side * side + k;
            for (int64_t c = 0; c < to_blocks * block; ++c) {
              const int64_t s = source(c, pixel);
              const float* read =
                  from +
                  ((n * from_blocks + s / from_block) * height + r / side) * width * from_block +
                  s % from_block;
              if (blocked) {
                float* write =
                    to +
                    (((n * to_blocks + c / block) * height * side + r) * width * side + k) * block +
                    c % block;
                for (int64_t w = 0; w < width; ++w)
                  write[w * side * block] = c < channels ? read[w * from_block] : 0.0F;
              } else if (c < channels) {
                float* write = to + ((n * channels + c) * height * side + r) * width * side + k;
                for (int64_t w = 0; w < width; ++w) write[w * side] = read[w * from_block];
              }
            }
          }
        }
      }
    };
  };
  return p;
}

}  // namespace hub::onednn
