// Winograd's convolution F(4x4, 3x3) on pictures in blocks of channels: 36 products in place of
// 144. Matrices as in Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks" (2015).
#pragma once

#include <cstdint>

namespace hub::onednn {

/// Weights [out, in, 3, 3] into 36 matrices [in_to, out_to], which may be larger; and back, exactly
/// but for rounding.
void winograd_weights(const float* w, int64_t out, int64_t in, float* u, int64_t out_to,
                      int64_t in_to);
void winograd_weights_back(const float* u, int64_t out_from, int64_t in_from, float* w, int64_t out,
                           int64_t in);

/// One picture: blocks of `block` channels (8 or 16), each [height, width, block].
struct Picture {
  int64_t channels, height, width, block;
};
/// Tiles of 4x4 outputs [first, first + count) of a picture, counted row by row.
struct Tiles {
  int64_t across;  ///< tiles in a row
  int64_t first, count;
};

/// Numbers from one plane [count, channels] of transforms to the next: a line more than it holds,
/// so that the planes do not all fall on the same lines of the cache.
constexpr int64_t plane_size(int64_t count, int64_t channels) { return count * channels + 16; }

/// v, 36 planes, of the inputs of the tiles; `top` and `left` are the pads.
void winograd_input(const float* x, const Picture& picture, int64_t top, int64_t left,
                    const Tiles& tiles, float* v);
/// m, 36 planes, becomes the outputs, in its first 16; `bias` may be null.
void winograd_output(float* m, int64_t channels, int64_t block, int64_t count, const float* bias);
/// y = planes (the first 16 of m) into the picture; with `add`, planes += y instead.
void winograd_exchange(float* m, const Picture& picture, const Tiles& tiles, float* y, bool add);
/// Zeros into the channels from `channels` on, of the last block of the planes.
void winograd_clear(float* m, const Picture& picture, const Tiles& tiles, int64_t channels);

}  // namespace hub::onednn
