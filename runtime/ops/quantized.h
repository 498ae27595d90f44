// What quantized_conv and quantized_matmul share: integers x and w stand for (x - zero) * scale,
// their products are summed in int32 and come out rounded to y_scale (or as floats without one).
#pragma once

#include "runtime/ops/kernel.h"

namespace hub {

namespace quantized {
/// The inputs. w_scale and w_zero hold one number, or one for each output channel (column); absent
/// zero points are 0. bias is int32, in units of x_scale * w_scale.
enum Input : size_t { x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, bias };
}  // namespace quantized

using Bytes = Types<int8_t, uint8_t>;

/// Refuses inputs that do not fit `sums`, what comes out before it is scaled; `channel` is the
/// number of channels. Gives the output.
std::vector<Spec> infer_quantized(const Infer& infer, const Shape& sums, int64_t channels);
/// Refuses zero points that do not fit: input `zero` belongs to input `of` and holds one number, or
/// `many`.
void check_zero(const Infer& infer, size_t zero, size_t of, int64_t many);

/// v - zero in int32. `zero` may be null; several numbers belong to positions along `axis`.
Tensor without_zero(const Tensor& v, const Tensor* zero, size_t axis);
/// Writes the scaled result of `sums` (bias included), whose channels lie along `axis`.
void finish_quantized(const Call& call, const Tensor& sums, size_t axis);

}  // namespace hub
