// Convolutions whose output is a small picture, as products of few rows: the weights are read once
// and take longer to come than the products last, which oneDNN's convolutions do not arrange for.
#include <omp.h>

#include "runtime/device/onednn/conv.h"
#include "runtime/device/onednn/kernels.h"
#include "runtime/device/onednn/kernels_gemm.h"
#include "runtime/device/onednn/kernels_recurrent.h"
#include "runtime/device/onednn/panels.h"

namespace hub::onednn {
namespace {

constexpr int64_t most_pixels = 64;

/// One picture, channels in whole blocks.
struct PanelConv {
  int64_t channels, height, width;         ///< of the input
  int64_t filters, out_height, out_width;  ///< of the output
  Window window;
  int64_t block;
  int64_t piece;  ///< numbers from the weights of one tap to those of the next
  int team;
  std::vector<Post> posts;

  int64_t pixels() const { return out_height * out_width; }
  int64_t taps() const { return window.kernel[0] * window.kernel[1]; }
  /// From one row of the operand to the next: not a multiple of a page, whose lines would fall on
  /// each other in the cache.
  int64_t row() const { return channels + 16; }
  int64_t operand_size() const { return taps() * pixels() * row(); }
  int64_t result_size() const { return pixels() * panel_width(filters); }
  int64_t room() const { return operand_size() + team * result_size(); }

  /// What tap [ky, kx] of the window sees at each place, for output row `oy`.
  void gather(const float* x, int64_t tap, int64_t oy, float* operand) const {
    const int64_t y =
        oy * window.strides[0] - window.pad_begin[0] + tap / window.kernel[1] * window.dilations[0];
    for (int64_t ox = 0; ox < out_width; ++ox) {
      const int64_t at = ox * window.strides[1] - window.pad_begin[1] +
                         tap % window.kernel[1] * window.dilations[1];
      float* to = operand + (tap * pixels() + oy * out_width + ox) * row();
      if (y < 0 || y >= height || at < 0 || at >= width) {
        std::fill_n(to, channels, 0.0F);
        continue;
      }
      const float* from = x + (y * width + at) * block;
      for (int64_t c = 0; c < channels; c += block, from += height * width * block)
        std::copy_n(from, block, to + c);
    }
  }

  /// Pixels [from, to) of one panel of filters, those from `first` on, through `result` into y.
  void part(int64_t first, int64_t from, int64_t to, const float* operand, const float* weights,
            const float* bias, const float* residual, float* result, float* y) const {
    const int64_t wide = panel_width(filters);
    const int64_t count = std::min(wide, filters - first), rows = to - from;
    const float* panel = weights + first * channels;
    for (int64_t t = 0; t < taps(); ++t, panel += piece)
      gemm_columns(wide, rows, count, channels, operand + (t * pixels() + from) * row(), row(),
                   panel, result, count, t > 0,
                   t + 1 < taps() ? panel + piece : weights + (first + wide) * channels);
    const auto each = [&](auto act) {
      for (int64_t c = 0; c < count; c += block)
        for (int64_t i = 0; i < rows; ++i)
          act(result + i * count + c, ((first + c) / block * pixels() + from + i) * block);
    };
    if (bias != nullptr)
      for (int64_t i = 0; i < rows; ++i) add_row(result + i * count, bias + first, count);
    for (const Post& post : posts) {
      if (post.kind == "sum")
        each([&](float* mine, int64_t at) { add_row(mine, residual + at, block); });
      else
        elementwise(post, result, result, rows * count);
    }
    each([&](const float* mine, int64_t at) { std::copy_n(mine, block, y + at); });
  }

  void run(const float* x, const float* weights, const float* bias, const float* residual, float* y,
           float* scratch) const {
    const int64_t wide = panel_width(filters);
    const int64_t panels = (filters + wide - 1) / wide;
    // Few panels do not share evenly: their pixels do.
    const int64_t cuts = panels % team != 0 && panels < 8 * team ? team : 1;
#pragma omp parallel num_threads(team)
    {
#pragma omp for collapse(2)
      for (int64_t t = 0; t < taps(); ++t)
        for (int64_t oy = 0; oy < out_height; ++oy) gather(x, t, oy, scratch);
      float* result = scratch + operand_size() + omp_get_thread_num() * result_size();
#pragma omp for
      for (int64_t task = 0; task < panels * cuts; ++task) {
        const int64_t cut = task % cuts;
        part(task / cuts * wide, pixels() * cut / cuts, pixels() * (cut + 1) / cuts, scratch,
             weights, bias, residual, result, y);
      }
    }
  }
};

}  // namespace

std::optional<Prepared> prepare_panel_conv(const OpCall& call, std::span<const Operand> in,
                                           std::span<const Spec> out) {
  const Shape& x = in[0].spec.shape;
  const Shape& w = in[1].spec.shape;
  const Shape& y = out[0].shape;
  const int64_t block = channel_block();
  if (x.rank() != 4 || x[0] != 1 || call.attrs.i("group", 1) != 1 || in[1].constant == nullptr ||
      y[2] * y[3] > most_pixels || x[1] % block != 0 || y[1] % block != 0)
    return {};
  PanelConv made{.channels = x[1],
                 .height = x[2],
                 .width = x[3],
                 .filters = y[1],
                 .out_height = y[2],
                 .out_width = y[3],
                 .window = conv_window(call.attrs, spatial(x), spatial(w)),
                 .block = block,
                 .piece = 0,
                 .team = omp_get_max_threads(),
                 .posts = read_post(call.attrs)};
  for (const Post& p : made.posts)
    if (p.kind != "sum" && !has_elementwise(p)) return {};
  std::vector<Panels::Piece> pieces;
  for (int64_t t = 0; t < made.taps(); ++t) pieces.push_back({t, made.taps(), x[1] * made.taps()});
  const auto weights = std::make_shared<Panels>(x[1], y[1], std::move(pieces));
  made.piece = weights->piece_size();
  return own_conv(made, weights, in, y, made.room(), "panels");
}

}  // namespace hub::onednn
