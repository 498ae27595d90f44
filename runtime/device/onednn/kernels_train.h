// Our own CPU kernels for training: gradients of elementwise operators and of norms, batch norm
// over a batch, sums, updates. Sums are added up in pieces of a fixed size, so that no number
// depends on how many threads there are.
#pragma once

#include <cstdint>

namespace hub::onednn {

enum class Slope { relu, leaky_relu, clip, sigmoid, tanh, hard_sigmoid, hard_swish, swish, gelu };
/// dx[i] = dy[i] * slope(v[i]), v being the result of relu, sigmoid and tanh, else the operand; dx
/// may be dy. a and b: alpha, beta or the bounds.
void slope(Slope kind, float a, float b, const float* v, const float* dy, float* dx, int64_t count);

/// y[i] = x[i] * P(N < x[i]) for a standard normal N, to three units in the last place.
void gelu(const float* x, float* y, int64_t count);

/// Over rows of `width`; dx may be dy.
void softmax_grad_rows(const float* y, const float* dy, float* dx, int64_t rows, int64_t width);

/// In place on [rows, keys]: dp becomes scale * p * (dp - sum of p dp over the keys).
void score_grad_rows(const float* p, float* dp, float scale, int64_t rows, int64_t keys);

/// Numbers of scratch for layer_norm_grad_rows.
int64_t layer_norm_scratch(int64_t rows, int64_t width);
/// scale may be null, dscale and dbias too; dx may be dy.
void layer_norm_grad_rows(const float* x, const float* dy, const float* scale, float* dx,
                          float* dscale, float* dbias, float* scratch, int64_t rows, int64_t width,
                          float epsilon);

/// y[j] = sum of x[i, j] over the rows.
void column_sums(const float* x, float* y, int64_t rows, int64_t width);
/// y[c] = sum over images and pixels of x [images, blocks, pixels, block].
void channel_sums(const float* x, float* y, int64_t images, int64_t channels, int64_t pixels,
                  int64_t block);

/// A picture in blocks [images, blocks, pixels, block], the last block perhaps not full.
struct Picture {
  int64_t images, channels, pixels, block;
  int64_t blocks() const { return (channels + block - 1) / block; }
};

/// What stands behind a batch norm: its result held between two bounds. On the way back they are
/// the least and the greatest result that lets dy pass.
struct Bounds {
  float low, high;
};

struct BatchNorm {
  Picture shape;
  float epsilon, momentum;
  Bounds bounds;
};
/// Numbers (doubles) of scratch for the two below.
int64_t batch_norm_scratch(const Picture& shape);
/// residual, and any output but y, may be null; y may be residual or x.
void batch_norm_train(const BatchNorm& how, const float* x, const float* scale, const float* bias,
                      const float* old_mean, const float* old_variance, const float* residual,
                      float* y, float* mean, float* inv_std, float* new_mean, float* new_variance,
                      double* scratch);
/// The y of batch_norm_train once more, to the last bit.
void batch_norm_again(const BatchNorm& how, const float* x, const float* scale, const float* bias,
                      const float* mean, const float* inv_std, float* y);
/// bias may be null when there are no bounds; any output may be null; dx may be dy.
void batch_norm_grad(const BatchNorm& how, const float* x, const float* dy, const float* scale,
                     const float* bias, const float* mean, const float* inv_std, float* dx,
                     float* dscale, float* dbias, double* scratch);

/// Windows over pictures of two dimensions.
struct WindowShape {
  int64_t planes;  ///< images * blocks
  int64_t h, w, out_h, out_w, kernel_h, kernel_w, stride_h, stride_w, dilation_h, dilation_w, top,
      left, block;
};
/// dx [images, blocks, in pixels, block] of a max pool: the first maximum of each window gets its
/// gradient.
void max_pool_grad(const WindowShape& s, const float* x, const float* dy, float* dx);
/// Each window's gradient in equal parts to its pixels: those inside the picture, or all that lie
/// in the padded one when `padding` counts.
void average_pool_grad(const WindowShape& s, bool padding, const float* dy, float* dx);

/// dw [channels, 1, k, k] of a convolution of each channel by itself; k is 3 or 5, nothing dilated.
/// scratch: planes * k * k * block numbers.
void depthwise_weight_grad(const WindowShape& s, int64_t channels, const float* x, const float* dy,
                           float* dw, float* scratch);

struct AdamStep {
  float rate, scale, decay, beta1, beta2, epsilon, correct1, correct2;
  bool decoupled;
};
void adam(const AdamStep& s, const float* p, const float* g, const float* m, const float* v,
          float* p_to, float* m_to, float* v_to, int64_t count);
void momentum(float rate, float scale, float decay, float mu, bool nesterov, const float* p,
              const float* g, const float* v, float* p_to, float* v_to, int64_t count);
void sgd(float rate, float scale, float decay, const float* p, const float* g, float* p_to,
         int64_t count);

}  // namespace hub::onednn
