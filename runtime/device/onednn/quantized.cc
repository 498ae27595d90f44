// Convolutions and matrix products of small integers, and what stands between them. Images lie with
// their channels last, weights as oneDNN packs them. Without VNNI oneDNN adds products of u8 and s8
// in pairs that saturate: integers are used only where the weights are too small for that, numbers
// as floats elsewhere.
#include "runtime/device/onednn/quantized.h"

#include <cmath>

#include "runtime/device/onednn/conv.h"

namespace hub::onednn {

using dnnl::memory;
using namespace quantized;

namespace {

dnnl::primitive_attr attr_of(const Scaling& s) {
  int sum = -1;
  auto attr = post_attr(s.posts, {}, sum);
  attr.set_output_scales(s.scales.size() > 1 ? 1 << 1 : 0, s.scales);
  if (s.source.zero != 0) attr.set_zero_points(DNNL_ARG_SRC, 0, {s.source.zero});
  if (s.result.zero != 0) attr.set_zero_points(DNNL_ARG_DST, 0, {s.result.zero});
  return attr;
}

/// Source, weights, bias and destination as `pd` wants them.
template <class Primitive>
Step bound(const Primitive& primitive, const typename Primitive::primitive_desc& pd, bool biased,
           const Places& at) {
  std::vector<std::tuple<int, memory::desc, void*>> args = {
      {DNNL_ARG_SRC, pd.src_desc(), at.in[x]},
      {DNNL_ARG_WEIGHTS, pd.weights_desc(), at.in[w]},
      {DNNL_ARG_DST, pd.dst_desc(), at.out[0]},
      {DNNL_ARG_SCRATCHPAD, pd.scratchpad_desc(), at.scratch}};
  if (biased) args.emplace_back(DNNL_ARG_BIAS, pd.bias_desc(), at.in[bias]);
  return primitive_step(primitive, std::move(args));
}

}  // namespace

std::optional<Prepared> prepare_quantized_conv(const OpCall& call, std::span<const Operand> in,
                                               std::span<const Spec> out) {
  const Spec& source = in[x].spec;
  const auto scaling = scaling_of(call, in, out[0]);
  if (!scaling || !image_rank(source.shape)) return {};
  if (!exact(call, source)) return prepare_wide_conv(call, in, out, *scaling);
  const Shape& kernel = in[w].spec.shape;
  const bool biased = in.size() > bias && in[bias].present;
  const auto win =
      windows_of(conv_window(call.attrs, spatial(source.shape), spatial(kernel)), source.shape);
  const auto dims = weight_dims(kernel, call.attrs.i("group", 1), false);
  const auto s8 = memory::data_type::s8;
  const memory::desc weights(dims, s8, memory::format_tag::any);
  const memory::desc bias_desc =
      biased ? typed(plain_desc({kernel[0]}), memory::data_type::s32) : memory::desc();
  const dnnl::convolution_forward::desc desc(
      dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct, last_of(source),
      weights, bias_desc, last_of(out[0]), win.strides, win.dilations, win.begin, win.end);
  const dnnl::convolution_forward::primitive_desc pd(desc, attr_of(*scaling), engine());
  Prepared p;
  p.in.assign(in.size(), nullptr);
  p.in[x] = channels_last(source);
  p.in[w] = layout_of(pd.weights_desc(), typed(plain_desc(dims), s8));
  p.out = {channels_last(out[0])};
  p.scratch = pd.scratchpad_desc().get_size();
  p.how = pd.impl_info_str();
  p.bind = [pd, biased, primitive = dnnl::convolution_forward(pd)](const Places& at) {
    return bound(primitive, pd, biased, at);
  };
  return p;
}

std::optional<Prepared> prepare_quantized_matmul(const OpCall& call, std::span<const Operand> in,
                                                 std::span<const Spec> out) {
  const Shape& a = in[x].spec.shape;
  const Shape& b = in[w].spec.shape;
  if (a.rank() < 2 || b.rank() != 2 || call.attrs.i("trans_a", 0) != 0) return {};
  const auto scaling = scaling_of(call, in, out[0]);
  if (!scaling) return {};
  if (!exact(call, in[x].spec)) return prepare_wide_matmul(call, in, out, *scaling);
  const bool biased = in.size() > bias && in[bias].present;
  const bool trans_b = call.attrs.i("trans_b", 0) != 0;
  const int64_t k = a.back(), m = a.numel() / k, n = out[0].shape.back();
  const auto s8 = memory::data_type::s8;
  const memory::desc plain_b({k, n}, s8, trans_b ? memory::dims{1, k} : memory::dims{n, 1});
  const memory::desc da = plain_of({in[x].spec.dtype, {m, k}});
  const memory::desc dc = plain_of({out[0].dtype, {m, n}});
  const memory::desc db({k, n}, s8, memory::format_tag::any);
  const memory::desc bias_desc = typed(plain_desc({1, n}), memory::data_type::s32);
  const auto desc =
      biased ? dnnl::matmul::desc(da, db, bias_desc, dc) : dnnl::matmul::desc(da, db, dc);
  const dnnl::matmul::primitive_desc pd(desc, attr_of(*scaling), engine());
  Prepared p;
  p.in.assign(in.size(), nullptr);
  p.in[w] = layout_of(pd.weights_desc(), plain_b);
  p.out = {nullptr};
  p.scratch = pd.scratchpad_desc().get_size();
  p.how = pd.impl_info_str();
  p.bind = [pd, biased, primitive = dnnl::matmul(pd)](const Places& at) {
    return bound(primitive, pd, biased, at);
  };
  return p;
}

std::optional<Prepared> prepare_quantized_add(const OpCall& call, std::span<const Operand> in,
                                              std::span<const Spec> out) {
  if (in[0].spec != in[3].spec) return {};
  const auto a = steps_of(in, 1), b = steps_of(in, 4), y = steps_of(in, 6);
  if (!a || !b || !y) return {};
  const bool u8 = out[0].dtype == DType::u8;
  int low = u8 ? 0 : -128, high = u8 ? 255 : 127;
  for (const Post& p : read_post(call.attrs)) {
    if (p.kind != "relu") return {};
    low = std::max(low, y->zero);
  }
  const LayoutPtr layout = in[0].layout ? in[0].layout : in[3].layout;
  Prepared p;
  p.in.assign(in.size(), nullptr);
  p.in[0] = p.in[3] = layout;
  p.out = {layout};
  p.in_place = {0};
  p.how = "loop";
  p.bind = [=, count = out[0].shape.numel(), dtype = out[0].dtype](const Places& at) -> Step {
    return by_type(dtype, [&]<class T>(T) -> Step {
      return [=, p = static_cast<const T*>(at.in[0]), q = static_cast<const T*>(at.in[3]),
              to = static_cast<T*>(at.out[0])] {
        add_quantized(p, *a, q, *b, to, *y, low, high, count);
      };
    });
  };
  return p;
}

std::optional<Prepared> prepare_quantize(const OpCall&, std::span<const Operand> in,
                                         std::span<const Spec> out) {
  const auto steps = steps_of(in, 1);
  const DType to = out[0].dtype;
  if (!steps || in[0].spec.dtype != DType::f32 || (to != DType::u8 && to != DType::i8)) return {};
  const bool blocks = is_image_layout(in[0].spec.shape, in[0].layout);
  const bool last = in[0].layout && same_layout(in[0].layout, channels_last(in[0].spec));
  Prepared p;
  p.in.assign(in.size(), nullptr);
  if (blocks || last) p.in[0] = in[0].layout;
  p.out = {blocks || last ? channels_last(out[0]) : nullptr};
  p.how = "loop";
  p.bind = [=, s = *steps, count = out[0].shape.numel(),
            image = image_of(out[0].shape)](const Places& at) -> Step {
    return by_type(to, [&]<class T>(T) -> Step {
      const auto* from = static_cast<const float*>(at.in[0]);
      auto* y = static_cast<T*>(at.out[0]);
      if (blocks) return [=] { quantize_image(from, y, *image, s); };
      return [=] { quantize(from, y, count, s); };
    });
  };
  return p;
}

std::optional<Prepared> prepare_dequantize(const OpCall&, std::span<const Operand> in,
                                           std::span<const Spec> out) {
  const auto steps = steps_of(in, 1);
  const DType from = in[0].spec.dtype;
  if (!steps || out[0].dtype != DType::f32 || (from != DType::u8 && from != DType::i8)) return {};
  const bool last = in[0].layout && same_layout(in[0].layout, channels_last(in[0].spec));
  Prepared p;
  p.in.assign(in.size(), nullptr);
  if (last) p.in[0] = in[0].layout;
  p.out = {last ? image_layout(out[0].shape) : nullptr};
  p.how = "loop";
  p.bind = [=, s = *steps, count = out[0].shape.numel(),
            image = image_of(out[0].shape)](const Places& at) -> Step {
    return by_type(from, [&]<class T>(T) -> Step {
      const auto* x = static_cast<const T*>(at.in[0]);
      auto* y = static_cast<float*>(at.out[0]);
      if (last) return [=] { dequantize_image(x, y, *image, s); };
      return [=] { dequantize(x, y, count, s); };
    });
  };
  return p;
}

/// The largest of integers with their channels last; gives nothing for other pools.
std::optional<Prepared> prepare_integer_pool(const OpCall& call, std::span<const Operand> in,
                                             std::span<const Spec> out) {
  const Spec& source = in[0].spec;
  if (call.out.size() != 1 || !image_rank(source.shape)) return {};
  if (source.dtype != DType::u8 && source.dtype != DType::i8) return {};
  const Window window = pool_window(call.attrs, spatial(source.shape));
  if (window.uneven || call.attrs.s("kind", "max") != "max") return {};
  const auto win = windows_of(window, source.shape);
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  const dnnl::pooling_v2_forward::desc desc(
      dnnl::prop_kind::forward_inference, dnnl::algorithm::pooling_max, last_of(source),
      last_of(out[0]), win.strides, memory::dims(window.kernel.begin(), window.kernel.end()),
      win.dilations, win.begin, win.end);
  const dnnl::pooling_v2_forward::primitive_desc pd(desc, attr, engine());
  Prepared p;
  p.in = {channels_last(source)};
  p.out = {channels_last(out[0])};
  p.scratch = pd.scratchpad_desc().get_size();
  p.how = pd.impl_info_str();
  p.bind = [pd, primitive = dnnl::pooling_v2_forward(pd)](const Places& at) {
    return primitive_step(primitive, {{DNNL_ARG_SRC, pd.src_desc(), at.in[0]},
                                      {DNNL_ARG_DST, pd.dst_desc(), at.out[0]},
                                      {DNNL_ARG_SCRATCHPAD, pd.scratchpad_desc(), at.scratch}});
  };
  return p;
}

}  // namespace hub::onednn
