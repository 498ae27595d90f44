// Small integers in oneDNN's terms: where they lie, and how sums of products are scaled.
#pragma once

#include "runtime/device/onednn/kernels_quantized.h"
#include "runtime/device/onednn/onednn.h"
#include "runtime/ops/quantized.h"

namespace hub::onednn {

dnnl::memory::desc typed(dnnl::memory::desc desc, dnnl::memory::data_type type);
/// Row-major, of int8, uint8, int32 or float32.
dnnl::memory::desc plain_of(const Spec& spec);
/// Images with their channels last.
dnnl::memory::desc last_of(const Spec& spec);
LayoutPtr channels_last(const Spec& spec);
/// A shape as images of integers or floats; nothing when it has not their rank.
std::optional<Channels> image_of(const Shape& shape);

/// Scale and zero point of inputs i and i + 1, one number each, when they are constants.
std::optional<Steps> steps_of(std::span<const Operand> in, size_t i);

/// How the sums of a quantized_conv or quantized_matmul become its result.
struct Scaling {
  Steps source;
  std::vector<float> scales;  ///< one, or one a channel
  std::vector<Post> posts;    ///< then rounded, and the zero point of the result added
  Steps result{1, 0};
};
/// Nothing when a number is computed, the weights are not int8 around 0, or a step would not fit.
std::optional<Scaling> scaling_of(const OpCall& call, std::span<const Operand> in, const Spec& out);

/// Whether sums of products with such weights are exact in integers on this processor.
bool exact(const OpCall& call, const Spec& x);

/// f(uint8_t) or f(int8_t).
template <class F>
Step by_type(DType dtype, F f) {
  return dtype == DType::u8 ? f(uint8_t{}) : f(int8_t{});
}

/// The same calls with integers as floats.
std::optional<Prepared> prepare_wide_conv(const OpCall& call, std::span<const Operand> in,
                                          std::span<const Spec> out, const Scaling& scaling);
std::optional<Prepared> prepare_wide_matmul(const OpCall& call, std::span<const Operand> in,
                                            std::span<const Spec> out, const Scaling& scaling);

}  // namespace hub::onednn
