#include "runtime/device/onednn/kernels_winograd.h"

#include <algorithm>

#include "runtime/device/onednn/vector.h"

namespace hub::onednn {
namespace {

constexpr float G[6][3] = {{1.0F / 4, 0, 0},
                           {-1.0F / 6, -1.0F / 6, -1.0F / 6},
                           {-1.0F / 6, 1.0F / 6, -1.0F / 6},
                           {1.0F / 24, 1.0F / 12, 1.0F / 6},
                           {1.0F / 24, -1.0F / 12, 1.0F / 6},
                           {0, 0, 1}};
/// The inverse of rows 0, 1, 2 and 5 of G: what three numbers the six came from.
constexpr float back[3][6] = {{4, 0, 0, 0, 0, 0}, {0, -3, 3, 0, 0, 0}, {0, 0, 0, 0, 0, 1}};

template <int W>
struct Lanes {  // GCC ignores the attribute on an alias of a template
  typedef float V __attribute__((vector_size(W * 4), aligned(4), may_alias));
};

template <class V>
HUB_INLINE void input_line(const V* d, int64_t step, V* o) {
  const V d1 = d[step], d2 = d[2 * step], d3 = d[3 * step], d4 = d[4 * step];
  const V a = d4 - 4.0F * d2, b = d3 - 4.0F * d1;
  const V c = d4 - d2, e = 2.0F * (d3 - d1);
  o[0] = 4.0F * d[0] - 5.0F * d2 + d4;
  o[1] = a + b;
  o[2] = a - b;
  o[3] = c + e;
  o[4] = c - e;
  o[5] = 4.0F * d1 - 5.0F * d3 + d[5 * step];
}

template <class V>
HUB_INLINE void output_line(const V* m, int64_t step, V* o) {
  const V s1 = m[step] + m[2 * step], s2 = m[step] - m[2 * step];
  const V s3 = m[3 * step] + m[4 * step], s4 = m[3 * step] - m[4 * step];
  o[0] = m[0] + s1 + s3;
  o[1] = s2 + 2.0F * s4;
  o[2] = s1 + 4.0F * s3;
  o[3] = s2 + 8.0F * s4 + m[5 * step];
}

template <int W>
HUB_INLINE void input_tiles(const float* x, const Picture& p, int64_t top, int64_t left,
                            const Tiles& tiles, float* v) {
  using V = typename Lanes<W>::V;
  const int64_t plane = plane_size(tiles.count, p.channels);
  for (int64_t b = 0; b < p.channels / W; ++b) {
    const float* picture = x + b * p.height * p.width * W;
    for (int64_t i = 0; i < tiles.count; ++i) {
      const int64_t tile = tiles.first + i;
      const int64_t row = tile / tiles.across * 4 - top, column = tile % tiles.across * 4 - left;
      V d[36], half[36];
      const bool inside = row >= 0 && column >= 0 && row + 6 <= p.height && column + 6 <= p.width;
      for (int64_t r = 0; r < 6; ++r) {
        for (int64_t c = 0; c < 6; ++c) {
          const bool there = inside || (row + r >= 0 && row + r < p.height && column + c >= 0 &&
                                        column + c < p.width);
          d[r * 6 + c] =
              there ? *reinterpret_cast<const V*>(picture + ((row + r) * p.width + column + c) * W)
                    : V{};
        }
      }
      for (int64_t r = 0; r < 6; ++r) input_line(d + r * 6, 1, half + r * 6);
      float* to = v + i * p.channels + b * W;
      for (int64_t c = 0; c < 6; ++c) {
        V o[6];
        input_line(half + c, 6, o);
        for (int64_t r = 0; r < 6; ++r) *reinterpret_cast<V*>(to + (r * 6 + c) * plane) = o[r];
      }
    }
  }
}

template <int W>
HUB_INLINE void output_tiles(float* m, int64_t channels, int64_t count, const float* bias) {
  using V = typename Lanes<W>::V;
  const int64_t plane = plane_size(count, channels);
  for (int64_t i = 0; i < count; ++i) {
    for (int64_t b = 0; b < channels; b += W) {
      float* at = m + i * channels + b;
      const V first = bias != nullptr ? *reinterpret_cast<const V*>(bias + b) : V{};
      V half[24];  // [6, 4]
      for (int64_t r = 0; r < 6; ++r) {
        V line[6];
        for (int64_t c = 0; c < 6; ++c)
          line[c] = *reinterpret_cast<const V*>(at + (r * 6 + c) * plane);
        output_line(line, 1, half + r * 4);
      }
      for (int64_t c = 0; c < 4; ++c) {
        V o[4];
        output_line(half + c, 4, o);
        for (int64_t r = 0; r < 4; ++r)
          *reinterpret_cast<V*>(at + (r * 4 + c) * plane) = o[r] + first;
      }
    }
  }
}

template <int W>
HUB_INLINE void exchange(float* m, const Picture& p, const Tiles& tiles, float* y, bool add) {
  using V = typename Lanes<W>::V;
  const int64_t plane = plane_size(tiles.count, p.channels);
  for (int64_t b = 0; b < p.channels / W; ++b) {
    float* picture = y + b * p.height * p.width * W;
    for (int64_t i = 0; i < tiles.count; ++i) {
      const int64_t tile = tiles.first + i;
      const int64_t row = tile / tiles.across * 4, column = tile % tiles.across * 4;
      float* from = m + i * p.channels + b * W;
      const int64_t rows = std::min<int64_t>(4, p.height - row);
      const int64_t columns = std::min<int64_t>(4, p.width - column);
      for (int64_t r = 0; r < rows; ++r) {
        for (int64_t c = 0; c < columns; ++c) {
          V* pixel = reinterpret_cast<V*>(picture + ((row + r) * p.width + column + c) * W);
          V* mine = reinterpret_cast<V*>(from + (r * 4 + c) * plane);
          if (add)
            *mine += *pixel;
          else
            *pixel = *mine;
        }
      }
    }
  }
}

}  // namespace

void winograd_weights(const float* w, int64_t out, int64_t in, float* u, int64_t out_to,
                      int64_t in_to) {
#pragma omp parallel for
  for (int64_t t = 0; t < 36; ++t) {
    float weight[9];
    for (int64_t k = 0; k < 9; ++k) weight[k] = G[t / 6][k / 3] * G[t % 6][k % 3];
    float* to = u + t * in_to * out_to;
    for (int64_t o = 0; o < out; ++o) {
      for (int64_t i = 0; i < in; ++i) {
        const float* g = w + (o * in + i) * 9;
        float sum = 0;
        for (int64_t k = 0; k < 9; ++k) sum += weight[k] * g[k];
        to[i * out_to + o] = sum;
      }
    }
  }
}

void winograd_weights_back(const float* u, int64_t out_from, int64_t in_from, float* w, int64_t out,
                           int64_t in) {
#pragma omp parallel for
  for (int64_t o = 0; o < out; ++o) {
    for (int64_t i = 0; i < in; ++i) {
      for (int64_t k = 0; k < 9; ++k) {
        float sum = 0;
        for (int64_t t = 0; t < 36; ++t) {
          const float weight = back[k / 3][t / 6] * back[k % 3][t % 6];
          if (weight != 0) sum += weight * u[(t * in_from + i) * out_from + o];
        }
        w[(o * in + i) * 9 + k] = sum;
      }
    }
  }
}

HUB_VECTOR void winograd_input(const float* x, const Picture& picture, int64_t top, int64_t left,
                               const Tiles& tiles, float* v) {
  if (picture.block == 16) return input_tiles<16>(x, picture, top, left, tiles, v);
  input_tiles<8>(x, picture, top, left, tiles, v);
}

HUB_VECTOR void winograd_output(float* m, int64_t channels, int64_t block, int64_t count,
                                const float* bias) {
  if (block == 16) return output_tiles<16>(m, channels, count, bias);
  output_tiles<8>(m, channels, count, bias);
}

void winograd_clear(float* m, const Picture& picture, const Tiles& tiles, int64_t channels) {
  const int64_t plane = plane_size(tiles.count, picture.channels);
  for (int64_t t = 0; t < 16; ++t)
    for (int64_t i = 0; i < tiles.count; ++i)
      std::fill_n(m + t * plane + i * picture.channels + channels, picture.channels - channels,
                  0.0F);
}

HUB_VECTOR void winograd_exchange(float* m, const Picture& picture, const Tiles& tiles, float* y,
                                  bool add) {
  if (picture.block == 16) return exchange<16>(m, picture, tiles, y, add);
  exchange<8>(m, picture, tiles, y, add);
}

}  // namespace hub::onednn
