// Our own CPU kernels: loops over floats that the compiler vectorises for each processor
// generation, on the same thread team as oneDNN.
#pragma once

#include <cstdint>

#include "runtime/ops/kernel.h"
#include "runtime/ops/post.h"

namespace hub::onednn {

/// Over rows of `width`; scale and bias may be null.
void layer_norm_rows(const float* x, const float* scale, const float* bias, float* y, int64_t rows,
                     int64_t width, float epsilon);

/// Whether elementwise() has a loop for the step; it throws Code::unsupported otherwise.
bool has_elementwise(const Post& step);
/// y[i] = step(x[i]); x and y may be the same memory.
void elementwise(const Post& step, const float* x, float* y, int64_t count);

enum class Binary { add, sub, mul, div, max, min };
/// y[i] = a[i] op b[i].
void binary_same(Binary op, const float* a, const float* b, float* y, int64_t count);
/// y[i] = a[i] op b, or b op a[i] when swapped.
void binary_scalar(Binary op, const float* a, float b, bool swapped, float* y, int64_t count);
/// a and y [groups, pixels, block], b [groups, block]: one number for all pixels.
void binary_channel(Binary op, const float* a, const float* b, bool swapped, float* y,
                    int64_t groups, int64_t pixels, int64_t block);
/// Operands broadcast: a `merged` walk over the plain y, neither of whose last steps is above 1.
void binary_rows(Binary op, const Walk<2>& walk, const float* a, const float* b, float* y);
/// y = x * scale + shift with [groups, block] numbers, group = n * blocks + b, repeated a picture.
void affine_channel(const float* x, const float* scale, const float* shift, float* y,
                    int64_t images, int64_t blocks, int64_t pixels, int64_t block);
/// x [outer, count, inner] summed over the middle, times `scale`: y [outer, inner].
void middle_sums(const float* x, float* y, int64_t outer, int64_t count, int64_t inner,
                 double scale);

}  // namespace hub::onednn
