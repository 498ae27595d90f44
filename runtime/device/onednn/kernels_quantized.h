// Our own CPU kernels between floats and small integers, on the same thread team as oneDNN.
#pragma once

#include <cstdint>

namespace hub::onednn {

/// Integers that stand for (q - zero) * scale.
struct Steps {
  float scale;
  int zero;
};

/// Channels of an image: integers lie [images, pixels, channels], floats in blocks [images, blocks,
/// pixels, block].
struct Channels {
  int64_t images, channels, pixels, block;
};

template <class T>
void quantize(const float* x, T* y, int64_t count, Steps to);
template <class T>
void dequantize(const T* x, float* y, int64_t count, Steps from);
template <class T>
void quantize_image(const float* x, T* y, const Channels& shape, Steps to);
template <class T>
void dequantize_image(const T* x, float* y, const Channels& shape, Steps from);

/// y[i] = the sum of two numbers, held between two integers.
template <class T>
void add_quantized(const T* a, Steps a_steps, const T* b, Steps b_steps, T* y, Steps y_steps,
                   int low, int high, int64_t count);

}  // namespace hub::onednn
