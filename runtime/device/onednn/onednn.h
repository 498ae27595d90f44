// The CPU device: the hot operators through oneDNN and a few kernels of our own, the rest by their
// reference implementation. Images stay in blocked layout (channels in groups of 8 or 16) from the
// first convolution to the last.
#pragma once

#include <dnnl.hpp>
#include <optional>

#include "runtime/device/device.h"
#include "runtime/ops/post.h"

namespace hub {

Device& open_onednn();

namespace onednn {

/// A layout that is a oneDNN memory descriptor.
class Blocked final : public Layout {
 public:
  /// `plain` describes the row-major value in the same dimensions: kernels want weights grouped or
  /// transposed.
  Blocked(dnnl::memory::desc desc, dnnl::memory::desc plain)
      : desc_(std::move(desc)), plain_(std::move(plain)) {}
  const dnnl::memory::desc& desc() const { return desc_; }
  const dnnl::memory::desc& plain() const { return plain_; }
  size_t bytes() const override { return desc_.get_size(); }
  bool same(const Layout& other) const override;
  std::string save() const override;

 private:
  dnnl::memory::desc desc_, plain_;
};

dnnl::engine& engine();
dnnl::stream& stream();

dnnl::memory::dims dims_of(const Shape& shape);
/// Row-major float32.
dnnl::memory::desc plain_desc(const dnnl::memory::dims& dims);
/// The descriptor of a float32 value where it is: its layout, or the plain one.
dnnl::memory::desc desc_of(const Spec& spec, const LayoutPtr& layout);
/// Null when `desc` is how the plain value lies anyway; `plain` as in Blocked, row-major when it is
/// left out.
LayoutPtr layout_of(const dnnl::memory::desc& desc);
LayoutPtr layout_of(const dnnl::memory::desc& desc, const dnnl::memory::desc& plain);
/// The spatial dimensions of an image or of weights.
std::span<const int64_t> spatial(const Shape& shape);

/// Channels a block of this processor: 16 with AVX-512, else 8.
int64_t channel_block();
/// [N, C, spatial…] with channels in blocks of channel_block().
LayoutPtr image_layout(const Shape& shape);
/// Whether a value lies so; then its memory is [N, blocks, pixels, channel_block()].
bool is_image_layout(const Shape& shape, const LayoutPtr& layout);

bool all_float(std::span<const Operand> in, std::span<const Spec> out);

/// The steps behind a call as oneDNN post-ops; "sum" reads the residual as a binary operand of
/// description `residual` (its place: DNNL_ARG_ATTR_MULTIPLE_POST_OP(index) | DNNL_ARG_SRC_1, the
/// index is returned in `sum_index`).
dnnl::primitive_attr post_attr(const std::vector<Post>& posts, const dnnl::memory::desc& residual,
                               int& sum_index);

/// A primitive with its arguments, bound to places.
Step primitive_step(const dnnl::primitive& primitive,
                    std::vector<std::tuple<int, dnnl::memory::desc, void*>> arguments);

/// Each gives nothing when the reference implementation has to do (another dtype, an unusual
/// attribute).
using Prepare = std::optional<Prepared> (*)(const OpCall&, std::span<const Operand>,
                                            std::span<const Spec>);
std::optional<Prepared> prepare_conv(const OpCall&, std::span<const Operand>,
                                     std::span<const Spec>);
std::optional<Prepared> prepare_conv_transpose(const OpCall&, std::span<const Operand>,
                                               std::span<const Spec>);
std::optional<Prepared> prepare_pool(const OpCall&, std::span<const Operand>,
                                     std::span<const Spec>);
std::optional<Prepared> prepare_matmul(const OpCall&, std::span<const Operand>,
                                       std::span<const Spec>);
std::optional<Prepared> prepare_attention(const OpCall&, std::span<const Operand>,
                                          std::span<const Spec>);
std::optional<Prepared> prepare_unary(const OpCall&, std::span<const Operand>,
                                      std::span<const Spec>);
std::optional<Prepared> prepare_binary(const OpCall&, std::span<const Operand>,
                                       std::span<const Spec>);
std::optional<Prepared> prepare_softmax(const OpCall&, std::span<const Operand>,
                                        std::span<const Spec>);
std::optional<Prepared> prepare_layer_norm(const OpCall&, std::span<const Operand>,
                                           std::span<const Spec>);
std::optional<Prepared> prepare_pad(const OpCall&, std::span<const Operand>, std::span<const Spec>);
std::optional<Prepared> prepare_reduce(const OpCall&, std::span<const Operand>,
                                       std::span<const Spec>);
std::optional<Prepared> prepare_batch_norm(const OpCall&, std::span<const Operand>,
                                           std::span<const Spec>);
std::optional<Prepared> prepare_concat(const OpCall&, std::span<const Operand>,
                                       std::span<const Spec>);
std::optional<Prepared> prepare_split(const OpCall&, std::span<const Operand>,
                                      std::span<const Spec>);
std::optional<Prepared> prepare_slice(const OpCall&, std::span<const Operand>,
                                      std::span<const Spec>);
/// A product with constant weights by our own kernels, where that is faster.
std::optional<Prepared> prepare_panel_matmul(const OpCall&, std::span<const Operand>,
                                             std::span<const Spec>);
/// A convolution by Winograd's method, where that pays.
std::optional<Prepared> prepare_winograd(const OpCall&, std::span<const Operand>,
                                         std::span<const Spec>);
/// A convolution onto a small picture as products with the weights in panels, where that pays.
std::optional<Prepared> prepare_panel_conv(const OpCall&, std::span<const Operand>,
                                           std::span<const Spec>);
std::optional<Prepared> prepare_recurrent(const OpCall&, std::span<const Operand>,
                                          std::span<const Spec>);
std::optional<Prepared> prepare_fluid_gru(const OpCall&, std::span<const Operand>,
                                          std::span<const Spec>);
std::optional<Prepared> prepare_resize(const OpCall&, std::span<const Operand>,
                                       std::span<const Spec>);
std::optional<Prepared> prepare_depth_to_space(const OpCall&, std::span<const Operand>,
                                               std::span<const Spec>);
std::optional<Prepared> prepare_transpose(const OpCall&, std::span<const Operand>,
                                          std::span<const Spec>);
std::optional<Prepared> prepare_view(const OpCall&, std::span<const Operand>,
                                     std::span<const Spec>);
std::optional<Prepared> prepare_quantized_conv(const OpCall&, std::span<const Operand>,
                                               std::span<const Spec>);
std::optional<Prepared> prepare_quantized_matmul(const OpCall&, std::span<const Operand>,
                                                 std::span<const Spec>);
std::optional<Prepared> prepare_quantized_add(const OpCall&, std::span<const Operand>,
                                              std::span<const Spec>);
std::optional<Prepared> prepare_quantize(const OpCall&, std::span<const Operand>,
                                         std::span<const Spec>);
std::optional<Prepared> prepare_dequantize(const OpCall&, std::span<const Operand>,
                                           std::span<const Spec>);
std::optional<Prepared> prepare_integer_pool(const OpCall&, std::span<const Operand>,
                                             std::span<const Spec>);
std::optional<Prepared> prepare_conv_input_grad(const OpCall&, std::span<const Operand>,
                                                std::span<const Spec>);
std::optional<Prepared> prepare_conv_weight_grad(const OpCall&, std::span<const Operand>,
                                                 std::span<const Spec>);
std::optional<Prepared> prepare_conv_transpose_input_grad(const OpCall&, std::span<const Operand>,
                                                          std::span<const Spec>);
std::optional<Prepared> prepare_conv_transpose_weight_grad(const OpCall&, std::span<const Operand>,
                                                           std::span<const Spec>);
std::optional<Prepared> prepare_pool_grad(const OpCall&, std::span<const Operand>,
                                          std::span<const Spec>);
std::optional<Prepared> prepare_batch_norm_train(const OpCall&, std::span<const Operand>,
                                                 std::span<const Spec>);
std::optional<Prepared> prepare_batch_norm_again(const OpCall&, std::span<const Operand>,
                                                 std::span<const Spec>);
std::optional<Prepared> prepare_batch_norm_grad(const OpCall&, std::span<const Operand>,
                                                std::span<const Spec>);
std::optional<Prepared> prepare_slope(const OpCall&, std::span<const Operand>,
                                      std::span<const Spec>);
std::optional<Prepared> prepare_update(const OpCall&, std::span<const Operand>,
                                       std::span<const Spec>);
std::optional<Prepared> prepare_softmax_grad(const OpCall&, std::span<const Operand>,
                                             std::span<const Spec>);
std::optional<Prepared> prepare_layer_norm_grad(const OpCall&, std::span<const Operand>,
                                                std::span<const Spec>);
std::optional<Prepared> prepare_sum_to(const OpCall&, std::span<const Operand>,
                                       std::span<const Spec>);
std::optional<Prepared> prepare_attention_grad(const OpCall&, std::span<const Operand>,
                                               std::span<const Spec>);

}  // namespace onednn
}  // namespace hub
