// 3x3 convolutions of stride 1 by Winograd's method, where that is faster than oneDNN's direct one:
// tiles of the picture through the transform, 36 products, and back, a group of tiles at a time so
// that all of it stays in the cache.
#include <omp.h>

#include "runtime/device/onednn/conv.h"
#include "runtime/device/onednn/kernels.h"
#include "runtime/device/onednn/kernels_gemm.h"
#include "runtime/device/onednn/kernels_winograd.h"
#include "runtime/device/onednn/panels.h"

namespace hub::onednn {
namespace {

struct Winograd {
  Picture in, out;
  int64_t channels;  ///< of the output, which is in whole blocks
  int64_t images, top, left, down, across;
  int64_t group;  ///< tiles at a time
  int64_t piece;
  int team;  ///< threads, for which there is room
  std::vector<Post> posts;

  int64_t tiles() const { return down * across; }
  int64_t room() const {
    return 36 * (plane_size(group, in.channels) + plane_size(group, out.channels));
  }

  void run(const float* x, const float* u, const float* bias, float* residual, float* y,
           float* scratch) const {
    if (bias != nullptr && channels < out.channels) {
      std::fill_n(scratch, out.channels, 0.0F);
      std::copy_n(bias, channels, scratch);
      bias = scratch;
      scratch += out.channels;
    }
    const int64_t groups = (tiles() + group - 1) / group;
#pragma omp parallel for num_threads(team) schedule(dynamic)
    for (int64_t task = 0; task < images * groups; ++task) {
      float* v = scratch + omp_get_thread_num() * room();
      float* m = v + 36 * plane_size(group, in.channels);
      const int64_t image = task / groups;
      const int64_t first = task % groups * group;
      const Tiles part{across, first, std::min(group, tiles() - first)};
      const int64_t from = image * in.channels * in.height * in.width;
      const int64_t to = image * out.channels * out.height * out.width;
      const int64_t from_plane = plane_size(part.count, in.channels);
      const int64_t to_plane = plane_size(part.count, out.channels);
      winograd_input(x + from, in, top, left, part, v);
      for (int64_t t = 0; t < 36; ++t) {
        gemm_panels(part.count, out.channels, in.channels, v + t * from_plane, in.channels,
                    u + t * piece, m + t * to_plane, out.channels, false);
      }
      winograd_output(m, out.channels, out.block, part.count, bias);
      for (const Post& post : posts) {
        if (post.kind == "sum") {
          winograd_exchange(m, out, part, residual + to, true);
        } else {
          for (int64_t t = 0; t < 16; ++t)
            elementwise(post, m + t * to_plane, m + t * to_plane, part.count * out.channels);
        }
      }
      if (channels < out.channels) winograd_clear(m, out, part, channels);
      winograd_exchange(m, out, part, y + to, false);
    }
  }
};

/// The weights grow to four times their size and are read once a group: with few tiles that takes
/// longer than the products that are saved (measured; the faster the products, the more tiles).
bool pays(const Winograd& w) {
  const int64_t least = w.in.block == 16 ? 40 : 16;
  return w.in.channels >= 32 && w.channels >= 24 && w.images * w.tiles() >= least;
}

/// Tiles at a time: their transforms fit the second-level cache, and no thread is left without.
int64_t group_size(const Winograd& w) {
  constexpr int64_t cache = 1 << 19;
  const int64_t most = std::max<int64_t>(cache / (36 * (w.in.channels + w.out.channels)), 24);
  int64_t groups = (w.tiles() + most - 1) / most;
  if (w.images * groups % w.team != 0 && w.images * groups < 4 * w.team) ++groups;
  return (w.tiles() + groups - 1) / groups;
}

}  // namespace

std::optional<Prepared> prepare_winograd(const OpCall& call, std::span<const Operand> in,
                                         std::span<const Spec> out) {
  const Shape& x = in[0].spec.shape;
  const Shape& w = in[1].spec.shape;
  const Shape& y = out[0].shape;
  const int64_t block = channel_block();
  if (x.rank() != 4 || w[2] != 3 || w[3] != 3 || call.attrs.i("group", 1) != 1 ||
      in[1].constant == nullptr)
    return {};
  const Window window = conv_window(call.attrs, spatial(x), spatial(w));
  for (size_t d = 0; d < 2; ++d)
    if (window.strides[d] != 1 || window.dilations[d] != 1) return {};
  const auto whole = [&](int64_t channels) { return (channels + block - 1) / block * block; };
  Winograd made{.in = {whole(x[1]), x[2], x[3], block},
                .out = {whole(y[1]), y[2], y[3], block},
                .channels = y[1],
                .images = x[0],
                .top = window.pad_begin[0],
                .left = window.pad_begin[1],
                .down = (y[2] + 3) / 4,
                .across = (y[3] + 3) / 4,
                .group = 0,
                .piece = 0,
                .team = omp_get_max_threads(),
                .posts = read_post(call.attrs)};
  if (!pays(made)) return {};
  for (const Post& p : made.posts)
    if (p.kind != "sum" && !has_elementwise(p)) return {};
  made.group = group_size(made);
  const auto weights = std::make_shared<WinogradWeights>(x[1], y[1], block);
  made.piece = weights->piece_size();
  return own_conv(made, weights, in, y, made.room() * made.team + made.out.channels, "winograd");
}

}  // namespace hub::onednn
