// Batch norm by the statistics of the batch, and its gradient, over pictures in blocks of channels:
// each reads its picture twice, a block of channels at a time, so that the second reading comes out
// of a cache where it can.
#include "runtime/device/onednn/kernels_train.h"
#include "runtime/device/onednn/vector.h"

namespace hub::onednn {
namespace {

using Wide = float __attribute__((vector_size(64), aligned(4), may_alias));
using Narrow = float __attribute__((vector_size(32), aligned(4), may_alias));

constexpr int64_t most = 16;  ///< channels in a block, at most

template <class V>
HUB_INLINE V at(const float* p) {
  return *reinterpret_cast<const V*>(p);
}
template <class V>
HUB_INLINE void put(float* p, V v) {
  *reinterpret_cast<V*>(p) = v;
}
template <class V>
HUB_INLINE V held(V v, V low, V high) {
  v = v < low ? low : v;
  return v > high ? high : v;
}

/// Sums of two things over pixels, in double: sum[0..block) and sum[most..most + block). term(p, u,
/// v) adds what belongs to pixel p.
template <class V, class Term>
HUB_INLINE void sum_pixels(int64_t pixels, double* sum, Term term) {
  constexpr int64_t lanes = sizeof(V) / sizeof(float);
  constexpr int64_t piece = 256;
  for (int64_t l = 0; l < 2 * most; ++l) sum[l] = 0;
  for (int64_t begin = 0; begin < pixels; begin += piece) {
    const int64_t end = std::min(begin + piece, pixels);
    V u0{}, u1{}, u2{}, u3{}, v0{}, v1{}, v2{}, v3{};
    int64_t p = begin;
    for (; p + 4 <= end; p += 4) {
      term(p, u0, v0);
      term(p + 1, u1, v1);
      term(p + 2, u2, v2);
      term(p + 3, u3, v3);
    }
    for (; p < end; ++p) term(p, u0, v0);
    const V u = (u0 + u1) + (u2 + u3);
    const V v = (v0 + v1) + (v2 + v3);
    for (int64_t l = 0; l < lanes; ++l) {
      sum[l] += u[l];
      sum[most + l] += v[l];
    }
  }
}

/// Of x - shift and its square.
template <class V>
HUB_INLINE void moments(const float* x, const float* shift, int64_t pixels, double* sum) {
  constexpr int64_t lanes = sizeof(V) / sizeof(float);
  const V s = at<V>(shift);
  sum_pixels<V>(pixels, sum, [=](int64_t p, V& u, V& v) HUB_INLINED {
    const V d = at<V>(x + p * lanes) - s;
    u += d;
    v += d * d;
  });
}
HUB_VECTOR void moments_16(const float* x, const float* shift, int64_t pixels, double* sum) {
  moments<Wide>(x, shift, pixels, sum);
}
HUB_VECTOR void moments_8(const float* x, const float* shift, int64_t pixels, double* sum) {
  moments<Narrow>(x, shift, pixels, sum);
}

/// What a block of channels needs.
struct Channels {
  float factor[most], offset[most];  ///< y = x * factor + offset
  float mean[most], slope[most], shift[most], zero[most];
};

template <class V>
HUB_INLINE void forward(const float* x, const float* residual, const Channels& c, Bounds bounds,
                        float* y, int64_t pixels) {
  constexpr int64_t lanes = sizeof(V) / sizeof(float);
  const V a = at<V>(c.factor);
  const V b = at<V>(c.offset);
  const V low = V{} + bounds.low;
  const V high = V{} + bounds.high;
  if (residual != nullptr) {
    for (int64_t i = 0; i < pixels * lanes; i += lanes)
      put<V>(y + i, held<V>(at<V>(x + i) * a + b + at<V>(residual + i), low, high));
  } else {
    for (int64_t i = 0; i < pixels * lanes; i += lanes)
      put<V>(y + i, held<V>(at<V>(x + i) * a + b, low, high));
  }
}
HUB_VECTOR void forward_16(const float* x, const float* residual, const Channels& c, Bounds bounds,
                           float* y, int64_t pixels) {
  forward<Wide>(x, residual, c, bounds, y, pixels);
}
HUB_VECTOR void forward_8(const float* x, const float* residual, const Channels& c, Bounds bounds,
                          float* y, int64_t pixels) {
  forward<Narrow>(x, residual, c, bounds, y, pixels);
}

/// dy where the result lies between the bounds. `zero` is zeros that the compiler does not know for
/// such: of a choice that it does, GCC 12 makes masks, which AVX-512F alone has not.
template <class V>
HUB_INLINE V passing(V x, V dy, V a, V b, V low, V high, V zero) {
  const V y = x * a + b;
  return held<V>(y, low, high) == y ? dy : zero;
}

/// Of dy, and of dy * (x - mean).
template <class V>
HUB_INLINE void products(const float* x, const float* dy, const Channels& c, Bounds bounds,
                         int64_t pixels, double* sum) {
  constexpr int64_t lanes = sizeof(V) / sizeof(float);
  const V a = at<V>(c.factor);
  const V b = at<V>(c.offset);
  const V mean = at<V>(c.mean);
  const V zero = at<V>(c.zero);
  const V low = V{} + bounds.low;
  const V high = V{} + bounds.high;
  sum_pixels<V>(pixels, sum, [=](int64_t p, V& u, V& v) HUB_INLINED {
    const V t = at<V>(x + p * lanes);
    const V g = passing<V>(t, at<V>(dy + p * lanes), a, b, low, high, zero);
    u += g;
    v += g * (t - mean);
  });
}
HUB_VECTOR void products_16(const float* x, const float* dy, const Channels& c, Bounds bounds,
                            int64_t pixels, double* sum) {
  products<Wide>(x, dy, c, bounds, pixels, sum);
}
HUB_VECTOR void products_8(const float* x, const float* dy, const Channels& c, Bounds bounds,
                           int64_t pixels, double* sum) {
  products<Narrow>(x, dy, c, bounds, pixels, sum);
}

/// dx = factor * dy - shift - slope * (x - mean).
template <class V>
HUB_INLINE void backward(const float* x, const float* dy, const Channels& c, Bounds bounds,
                         float* dx, int64_t pixels) {
  constexpr int64_t lanes = sizeof(V) / sizeof(float);
  const V a = at<V>(c.factor);
  const V b = at<V>(c.offset);
  const V mean = at<V>(c.mean);
  const V zero = at<V>(c.zero);
  const V slope = at<V>(c.slope);
  const V shift = at<V>(c.shift);
  const V low = V{} + bounds.low;
  const V high = V{} + bounds.high;
  for (int64_t i = 0; i < pixels * lanes; i += lanes) {
    const V t = at<V>(x + i);
    const V g = passing<V>(t, at<V>(dy + i), a, b, low, high, zero);
    put<V>(dx + i, a * g - shift - slope * (t - mean));
  }
}
HUB_VECTOR void backward_16(const float* x, const float* dy, const Channels& c, Bounds bounds,
                            float* dx, int64_t pixels) {
  backward<Wide>(x, dy, c, bounds, dx, pixels);
}
HUB_VECTOR void backward_8(const float* x, const float* dy, const Channels& c, Bounds bounds,
                           float* dx, int64_t pixels) {
  backward<Narrow>(x, dy, c, bounds, dx, pixels);
}

/// For each block of channels: sum(n, b) for every image, then finish(b), then write(n, b) for
/// every image. A thread takes whole blocks where that gives all something to do, else they share
/// the images of each.
template <class Sum, class Finish, class Write>
void by_block(const Picture& s, Sum sum, Finish finish, Write write) {
  const int64_t blocks = s.blocks();
  const bool worth = s.images * blocks * s.pixels * s.block >= worth_a_thread;
#pragma omp parallel if (worth)
  {
    const int64_t team = omp_get_num_threads();
    if (blocks % team == 0 || blocks >= 4 * team) {
#pragma omp for schedule(static)
      for (int64_t b = 0; b < blocks; ++b) {
        for (int64_t n = 0; n < s.images; ++n) sum(n, b);
        finish(b);
        for (int64_t n = s.images; n-- > 0;) write(n, b);  // what was read last is still near
      }
    } else {
      for (int64_t b = 0; b < blocks; ++b) {
#pragma omp for schedule(static)
        for (int64_t n = 0; n < s.images; ++n) sum(n, b);
#pragma omp single
        finish(b);
#pragma omp for schedule(static)
        for (int64_t n = 0; n < s.images; ++n) write(n, b);
      }
    }
  }
}

constexpr int64_t sums_a_block = 2 * most;
/// Doubles that hold the Channels of a block.
constexpr auto channels_a_block = static_cast<int64_t>((sizeof(Channels) + 7) / 8);

/// Scratch: the sums of each image and block, then the Channels of each block.
struct Scratch {
  Picture s;
  double* memory;
  double* sums(int64_t n, int64_t b) const { return memory + (b * s.images + n) * sums_a_block; }
  Channels& channels(int64_t b) const {
    double* behind = memory + s.blocks() * s.images * sums_a_block;
    return *reinterpret_cast<Channels*>(behind + b * channels_a_block);
  }
  /// The sums of all images.
  void total(int64_t b, double* sum) const {
    std::fill_n(sum, sums_a_block, 0.0);
    for (int64_t n = 0; n < s.images; ++n) {
      for (int64_t l = 0; l < sums_a_block; ++l) sum[l] += sums(n, b)[l];
    }
  }
};

/// y = x * factor + offset from mean and deviation; in float, so that it comes out the same when it
/// is done again.
void set_line(Channels& c, int64_t l, float scale, float bias, float mean, float inv_std) {
  c.factor[l] = scale * inv_std;
  c.mean[l] = mean;
  c.offset[l] = bias - mean * c.factor[l];
}

}  // namespace

int64_t batch_norm_scratch(const Picture& s) {
  return s.blocks() * (s.images * sums_a_block + channels_a_block);
}

void batch_norm_train(const BatchNorm& how, const float* x, const float* scale, const float* bias,
                      const float* old_mean, const float* old_variance, const float* residual,
                      float* y, float* mean, float* inv_std, float* new_mean, float* new_variance,
                      double* scratch) {
  const Picture s = how.shape;
  const Scratch room{s, scratch};
  const int64_t size = s.pixels * s.block;
  const auto count = static_cast<double>(s.images * s.pixels);
  by_block(
      s,
      [&](int64_t n, int64_t b) {
        // Shifted by the first pixel, so that a large mean costs no digits.
        const float* shift = x + b * size;
        const float* from = x + (n * s.blocks() + b) * size;
        s.block == 16 ? moments_16(from, shift, s.pixels, room.sums(n, b))
                      : moments_8(from, shift, s.pixels, room.sums(n, b));
      },
      [&](int64_t b) {
        double sum[sums_a_block];
        room.total(b, sum);
        Channels& c = room.channels(b);
        c = {};
        for (int64_t l = 0; l < std::min(s.block, s.channels - b * s.block); ++l) {
          const int64_t k = b * s.block + l;
          const double off = sum[l] / count;
          const double m = off + static_cast<double>(x[b * size + l]);
          const double squares = std::max(sum[most + l] - count * off * off, 0.0);
          const auto inverse =
              static_cast<float>(1 / std::sqrt(squares / count + static_cast<double>(how.epsilon)));
          set_line(c, l, scale[k], bias[k], static_cast<float>(m), inverse);
          const double keep = how.momentum;
          const double variance = squares / std::max(count - 1, 1.0);
          if (mean != nullptr) mean[k] = c.mean[l];
          if (inv_std != nullptr) inv_std[k] = inverse;
          if (new_mean != nullptr)
            new_mean[k] = static_cast<float>(keep * old_mean[k] + (1 - keep) * m);
          if (new_variance != nullptr)
            new_variance[k] = static_cast<float>(keep * old_variance[k] + (1 - keep) * variance);
        }
      },
      [&](int64_t n, int64_t b) {
        const int64_t from = (n * s.blocks() + b) * size;
        const float* other = residual == nullptr ? nullptr : residual + from;
        if (y == nullptr) return;
        s.block == 16
            ? forward_16(x + from, other, room.channels(b), how.bounds, y + from, s.pixels)
            : forward_8(x + from, other, room.channels(b), how.bounds, y + from, s.pixels);
      });
}

void batch_norm_again(const BatchNorm& how, const float* x, const float* scale, const float* bias,
                      const float* mean, const float* inv_std, float* y) {
  const Picture s = how.shape;
  const int64_t size = s.pixels * s.block;
#pragma omp parallel for if (s.images * s.blocks() * size >= worth_a_thread)
  for (int64_t g = 0; g < s.images * s.blocks(); ++g) {
    Channels c = {};
    const int64_t first = g % s.blocks() * s.block;
    for (int64_t l = 0; l < std::min(s.block, s.channels - first); ++l)
      set_line(c, l, scale[first + l], bias[first + l], mean[first + l], inv_std[first + l]);
    s.block == 16 ? forward_16(x + g * size, nullptr, c, how.bounds, y + g * size, s.pixels)
                  : forward_8(x + g * size, nullptr, c, how.bounds, y + g * size, s.pixels);
  }
}

void batch_norm_grad(const BatchNorm& how, const float* x, const float* dy, const float* scale,
                     const float* bias, const float* mean, const float* inv_std, float* dx,
                     float* dscale, float* dbias, double* scratch) {
  const Picture s = how.shape;
  const Scratch room{s, scratch};
  const int64_t size = s.pixels * s.block;
  const auto count = static_cast<double>(s.images * s.pixels);
  for (int64_t b = 0; b < s.blocks(); ++b) {
    Channels& c = room.channels(b);
    c = {};
    for (int64_t l = 0; l < std::min(s.block, s.channels - b * s.block); ++l) {
      const int64_t k = b * s.block + l;
      set_line(c, l, scale[k], bias == nullptr ? 0.0F : bias[k], mean[k], inv_std[k]);
    }
  }
  by_block(
      s,
      [&](int64_t n, int64_t b) {
        const int64_t from = (n * s.blocks() + b) * size;
        s.block == 16 ? products_16(x + from, dy + from, room.channels(b), how.bounds, s.pixels,
                                    room.sums(n, b))
                      : products_8(x + from, dy + from, room.channels(b), how.bounds, s.pixels,
                                   room.sums(n, b));
      },
      [&](int64_t b) {
        double sum[sums_a_block];
        room.total(b, sum);
        Channels& c = room.channels(b);
        for (int64_t l = 0; l < std::min(s.block, s.channels - b * s.block); ++l) {
          const int64_t k = b * s.block + l;
          const double inverse = inv_std[k];
          const double factor = c.factor[l];
          c.shift[l] = static_cast<float>(factor * sum[l] / count);
          c.slope[l] = static_cast<float>(factor * inverse * inverse * sum[most + l] / count);
          if (dbias != nullptr) dbias[k] = static_cast<float>(sum[l]);
          if (dscale != nullptr) dscale[k] = static_cast<float>(sum[most + l] * inverse);
        }
      },
      [&](int64_t n, int64_t b) {
        const int64_t from = (n * s.blocks() + b) * size;
        if (dx == nullptr) return;
        s.block == 16
            ? backward_16(x + from, dy + from, room.channels(b), how.bounds, dx + from, s.pixels)
            : backward_8(x + from, dy + from, room.channels(b), how.bounds, dx + from, s.pixels);
      });
}

}  // namespace hub::onednn
