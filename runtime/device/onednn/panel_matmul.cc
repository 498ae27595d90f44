// Products of few rows with constant weights. oneDNN's wait for the weights, which come from beyond
// the second-level cache; with many rows that no longer shows.
#include <omp.h>

#include "runtime/device/onednn/kernels.h"
#include "runtime/device/onednn/kernels_gemm.h"
#include "runtime/device/onednn/kernels_recurrent.h"
#include "runtime/device/onednn/kernels_train.h"
#include "runtime/device/onednn/onednn.h"
#include "runtime/device/onednn/panels.h"
#include "runtime/device/onednn/vector.h"

namespace hub::onednn {
namespace {

constexpr int64_t most_rows = 256;

struct PanelMatmul {
  int64_t m, n, k;
  std::vector<Post> posts;

  /// Columns [from, from + count) of the result, in full panels but for the last.
  void part(int64_t from, int64_t count, const float* a, const float* b, const float* bias,
            const float* residual, float* c) const {
    gemm_columns(panel_width(n), m, count, k, a, k, b + from * k, c + from, n, false);
    if (bias == nullptr && posts.empty()) return;
    for (int64_t r = 0; r < m; ++r) {
      float* y = c + r * n + from;
      if (bias != nullptr) add_row(y, bias + from, count);
      for (const Post& post : posts) {
        if (post.kind == "sum")
          add_row(y, residual + r * n + from, count);
        else if (post.kind == "gelu")
          gelu(y, y, count);
        else
          elementwise(post, y, y, count);
      }
    }
  }

  void run(const Places& at) const {
    const auto place = [&](size_t i) {
      return static_cast<const float*>(i < at.in.size() ? at.in[i] : nullptr);
    };
    auto* c = static_cast<float*>(at.out[0]);
    const int64_t width = panel_width(n);
    const int64_t panels = (n + width - 1) / width;
    const int64_t team =
        m * n * k < worth_a_thread ? 1 : std::min<int64_t>(omp_get_max_threads(), panels);
#pragma omp parallel for num_threads(team) schedule(static) if (team > 1)
    for (int64_t t = 0; t < team; ++t) {
      const int64_t from = panels * t / team * width;
      const int64_t to = std::min(panels * (t + 1) / team * width, n);
      part(from, to - from, place(0), place(1), place(2), place(3), c);
    }
  }
};

}  // namespace

std::optional<Prepared> prepare_panel_matmul(const OpCall& call, std::span<const Operand> in,
                                             std::span<const Spec> out) {
  const Shape& a = in[0].spec.shape;
  const Shape& b = in[1].spec.shape;
  if (in[1].constant == nullptr || b.rank() != 2 || call.attrs.i("trans_a", 0) != 0 ||
      call.attrs.f("alpha", 1) != 1)
    return {};
  const bool transposed = call.attrs.i("trans_b", 0) != 0;
  PanelMatmul made{.m = a.numel() / a.back(),
                   .n = out[0].shape.back(),
                   .k = a.back(),
                   .posts = read_post(call.attrs)};
  if (made.m > most_rows) return {};
  for (const Post& p : made.posts)
    if (p.kind != "sum" && p.kind != "gelu" && !has_elementwise(p)) return {};
  if (in.size() > 2 && in[2].present && in[2].spec.shape != Shape{made.n}) return {};
  Prepared p;
  p.in.assign(in.size(), nullptr);
  p.in[1] = std::make_shared<Panels>(
      made.k, made.n,
      std::vector<Panels::Piece>{{0, transposed ? 1 : made.n, transposed ? made.k : 1}});
  p.out = {nullptr};
  p.how = "panels";
  p.bind = [made](const Places& at) -> Step { return [made, at] { made.run(at); }; };
  return p;
}

}  // namespace hub::onednn
