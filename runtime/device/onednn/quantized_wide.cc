// quantized_conv and quantized_matmul for processors whose integer products would saturate: float32
// products of whole numbers, which are exact up to 2^24.
#include "runtime/device/onednn/conv.h"
#include "runtime/device/onednn/quantized.h"

namespace hub::onednn {

using dnnl::memory;
using namespace quantized;

namespace {

constexpr auto f32 = memory::data_type::f32;

/// The steps of a product: its scales, one a channel along dimension 1 (read as a binary operand at
/// post-op 0), and what follows them.
dnnl::primitive_attr attr_of(const Scaling& s, const memory::desc& scales) {
  int sum = -1;
  const auto attr = post_attr(s.posts, {}, sum);
  const dnnl::post_ops steps = attr.get_post_ops();
  dnnl::post_ops all;
  all.append_binary(dnnl::algorithm::binary_mul, scales);
  for (int i = 0; i < steps.len(); ++i) {
    float scale = 1, alpha = 0, beta = 0;
    dnnl::algorithm kind{};
    steps.get_params_eltwise(i, scale, kind, alpha, beta);
    all.append_eltwise(scale, kind, alpha, beta);
  }
  dnnl::primitive_attr out;
  out.set_post_ops(all);
  out.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return out;
}

size_t aligned(size_t bytes) { return (bytes + 63) / 64 * 64; }

/// A float product between two conversions; floats of images lie in blocks of channels, those of
/// the source when `blocks` says so.
template <class Primitive>
Prepared wide(const typename Primitive::primitive_desc& pd, std::span<const Operand> in,
              std::span<const Spec> out, const Scaling& s, const memory::desc& scale_desc,
              const LayoutPtr& weights, bool blocks, bool image) {
  const bool biased = in.size() > bias && in[bias].present;
  const Spec source = in[x].spec;
  const Spec result = out[0];
  const bool rounds = result.dtype != DType::f32;
  Prepared p;
  p.in.assign(in.size(), nullptr);
  p.in[w] = weights;
  if (blocks) p.in[x] = channels_last(source);
  if (biased) p.in[bias] = layout_of(pd.bias_desc(), typed(pd.bias_desc(), memory::data_type::s32));
  p.out = {!image ? nullptr : rounds ? channels_last(result) : layout_of(pd.dst_desc())};
  const size_t a = aligned(pd.src_desc().get_size());
  const size_t b = rounds ? aligned(pd.dst_desc().get_size()) : 0;
  p.scratch = a + b + pd.scratchpad_desc().get_size();
  p.how = concat("wide ", pd.impl_info_str());
  p.bind = [=, primitive = Primitive(pd), steps = s](const Places& at) -> Step {
    auto* wide_x = static_cast<float*>(at.scratch);
    auto* base = static_cast<std::byte*>(at.scratch);
    auto* wide_y = rounds ? reinterpret_cast<float*>(base + a) : static_cast<float*>(at.out[0]);
    const auto scales = std::make_shared<std::vector<float>>(steps.scales);
    std::vector<std::tuple<int, memory::desc, void*>> args = {
        {DNNL_ARG_SRC, pd.src_desc(), wide_x},
        {DNNL_ARG_WEIGHTS, pd.weights_desc(), at.in[w]},
        {DNNL_ARG_DST, pd.dst_desc(), wide_y},
        {DNNL_ARG_SCRATCHPAD, pd.scratchpad_desc(), base + a + b},
        {DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1, scale_desc, scales->data()}};
    if (biased) args.emplace_back(DNNL_ARG_BIAS, pd.bias_desc(), at.in[bias]);
    const Step product = primitive_step(primitive, std::move(args));
    const Steps to{1, steps.result.zero}, from{1, steps.source.zero};
    const auto channels_in = image_of(source.shape), channels_out = image_of(result.shape);
    const Step before = by_type(source.dtype, [&]<class T>(T) -> Step {
      const auto* q = static_cast<const T*>(at.in[x]);
      if (blocks) return [=] { dequantize_image(q, wide_x, *channels_in, from); };
      return [=, n = source.shape.numel()] { dequantize(q, wide_x, n, from); };
    });
    if (!rounds) return [=] { before(), product(), (void)scales; };
    const Step behind = by_type(result.dtype, [&]<class T>(T) -> Step {
      auto* q = static_cast<T*>(at.out[0]);
      if (image) return [=] { quantize_image(wide_y, q, *channels_out, to); };
      return [=, n = result.shape.numel()] { quantize(wide_y, q, n, to); };
    });
    return [=] { before(), product(), behind(), (void)scales; };
  };
  return p;
}

}  // namespace

std::optional<Prepared> prepare_wide_conv(const OpCall& call, std::span<const Operand> in,
                                          std::span<const Spec> out, const Scaling& s) {
  const Shape& from = in[x].spec.shape;
  const Shape& kernel = in[w].spec.shape;
  const Shape& y = out[0].shape;
  const auto win = windows_of(conv_window(call.attrs, spatial(from), spatial(kernel)), from);
  const auto dims = weight_dims(kernel, call.attrs.i("group", 1), false);
  memory::dims scale_dims(y.rank(), 1);
  if (s.scales.size() > 1) scale_dims[1] = y[1];
  const memory::desc scales = plain_desc(scale_dims);
  const memory::desc weights(dims, f32, memory::format_tag::any);
  const bool biased = in.size() > bias && in[bias].present;
  // As for floats: a picture of few channels is read as it is.
  const bool thin = from[1] <= 4 && call.attrs.i("group", 1) == 1;
  const dnnl::convolution_forward::desc desc(
      dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct,
      thin ? plain_desc(dims_of(from)) : desc_of({DType::f32, from}, image_layout(from)), weights,
      biased ? plain_desc({y[1]}) : memory::desc(), desc_of({DType::f32, y}, image_layout(y)),
      win.strides, win.dilations, win.begin, win.end);
  const dnnl::convolution_forward::primitive_desc pd(desc, attr_of(s, scales), engine());
  return wide<dnnl::convolution_forward>(
      pd, in, out, s, scales,
      layout_of(pd.weights_desc(), typed(plain_desc(dims), memory::data_type::s8)), !thin, true);
}

std::optional<Prepared> prepare_wide_matmul(const OpCall& call, std::span<const Operand> in,
                                            std::span<const Spec> out, const Scaling& s) {
  const int64_t k = in[x].spec.shape.back(), m = in[x].spec.shape.numel() / k;
  const int64_t n = out[0].shape.back();
  const bool trans_b = call.attrs.i("trans_b", 0) != 0;
  const memory::desc plain_b({k, n}, memory::data_type::s8,
                             trans_b ? memory::dims{1, k} : memory::dims{n, 1});
  const memory::desc scales = plain_desc({1, s.scales.size() > 1 ? n : 1});
  const memory::desc a = plain_desc({m, k}), b = plain_desc({k, n}), c = plain_desc({m, n});
  const bool biased = in.size() > bias && in[bias].present;
  const auto desc =
      biased ? dnnl::matmul::desc(a, b, plain_desc({1, n}), c) : dnnl::matmul::desc(a, b, c);
  const dnnl::matmul::primitive_desc pd(desc, attr_of(s, scales), engine());
  return wide<dnnl::matmul>(pd, in, out, s, scales, layout_of(b, plain_b), false, false);
}

}  // namespace hub::onednn
