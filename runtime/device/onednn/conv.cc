// Convolutions and transposed convolutions through oneDNN, in blocked layout, with what was fused
// behind them.
#include "runtime/device/onednn/conv.h"

namespace hub::onednn {

using dnnl::memory;

memory::dims weight_dims(const Shape& w, int64_t group, bool transposed) {
  memory::dims d;
  const int64_t out = transposed ? w[1] * group : w[0];
  const int64_t in = transposed ? w[0] : w[1] * group;
  if (group > 1) d.push_back(group);
  d.push_back(out / group);
  d.push_back(in / group);
  for (size_t i = 2; i < w.rank(); ++i) d.push_back(w[i]);
  return d;
}

Windows windows_of(const Window& window, const Shape& large) {
  Windows out;
  for (size_t i = 0; i < window.rank(); ++i) {
    out.strides.push_back(window.strides[i]);
    out.dilations.push_back(window.dilations[i] - 1);
    out.begin.push_back(window.pad_begin[i]);
    out.end.push_back(window.reach_end(i, large[i + 2]));
  }
  return out;
}

bool transposed_windows(const Window& window, const Shape& x, const Shape& y, Windows& out) {
  for (size_t i = 0; i < window.rank(); ++i) {
    const int64_t reach = (window.kernel[i] - 1) * window.dilations[i] + 1;
    out.strides.push_back(window.strides[i]);
    out.dilations.push_back(window.dilations[i] - 1);
    out.begin.push_back(window.pad_begin[i]);
    out.end.push_back((x[i + 2] - 1) * window.strides[i] + reach - y[i + 2] - window.pad_begin[i]);
    if (out.begin.back() < 0 || out.end.back() < 0) return false;
  }
  return true;
}

bool image_rank(const Shape& s) { return s.rank() >= 3 && s.rank() <= 5; }

namespace {

/// A convolution of either direction: `plain` is how its weights lie in the file, `sum` the step
/// that adds the residual.
template <class Primitive>
Prepared prepared(const typename Primitive::primitive_desc& pd, std::span<const Operand> in,
                  const memory::desc& plain, int sum) {
  const bool bias = in.size() > 2 && in[2].present;
  const bool residual = in.size() > 3 && in[3].present;
  Prepared p;
  p.in.assign(in.size(), nullptr);
  p.in[0] = layout_of(pd.src_desc());
  p.in[1] = layout_of(pd.weights_desc(), plain);
  if (residual) p.in[3] = layout_of(pd.dst_desc());
  p.out = {layout_of(pd.dst_desc())};
  p.scratch = pd.scratchpad_desc().get_size();
  p.how = pd.impl_info_str();
  p.bind = [pd, primitive = Primitive(pd), bias, residual, sum](const Places& at) {
    std::vector<std::tuple<int, memory::desc, void*>> args = {
        {DNNL_ARG_SRC, pd.src_desc(), at.in[0]},
        {DNNL_ARG_WEIGHTS, pd.weights_desc(), at.in[1]},
        {DNNL_ARG_DST, pd.dst_desc(), at.out[0]},
        {DNNL_ARG_SCRATCHPAD, pd.scratchpad_desc(), at.scratch}};
    if (bias) args.emplace_back(DNNL_ARG_BIAS, pd.bias_desc(), at.in[2]);
    if (residual) {
      args.emplace_back(DNNL_ARG_ATTR_MULTIPLE_POST_OP(sum) | DNNL_ARG_SRC_1, pd.dst_desc(),
                        at.in[3]);
    }
    return primitive_step(primitive, std::move(args));
  };
  return p;
}

}  // namespace

std::optional<Prepared> prepare_conv(const OpCall& call, std::span<const Operand> in,
                                     std::span<const Spec> out) {
  if (!all_float(in, out) || !image_rank(in[0].spec.shape)) return {};
  const Shape& x = in[0].spec.shape;
  const Shape& w = in[1].spec.shape;
  const Shape& y = out[0].shape;
  const int64_t group = call.attrs.i("group", 1);
  const bool bias = in.size() > 2 && in[2].present;
  if (auto winograd = prepare_winograd(call, in, out)) return winograd;
  if (auto panels = prepare_panel_conv(call, in, out)) return panels;
  const Windows win = windows_of(conv_window(call.attrs, spatial(x), spatial(w)), x);
  const auto f32 = memory::data_type::f32;
  const memory::desc weights(weight_dims(w, group, false), f32, memory::format_tag::any);
  const memory::desc bias_desc = bias ? plain_desc({y[1]}) : memory::desc();
  const auto posts = read_post(call.attrs);
  if (steps_clash(posts)) return {};
  const auto made = [&](bool plain_src, bool plain_dst) {
    const memory::desc src = desc_of(in[0].spec, plain_src ? nullptr : image_layout(x));
    const memory::desc dst = desc_of(out[0], plain_dst ? nullptr : image_layout(y));
    int sum = -1;
    const auto attr = post_attr(posts, dst, sum);
    const dnnl::convolution_forward::desc desc(
        dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct, src, weights,
        bias_desc, dst, win.strides, win.dilations, win.begin, win.end);
    const dnnl::convolution_forward::primitive_desc pd(desc, attr, engine());
    return prepared<dnnl::convolution_forward>(pd, in, plain_desc(weights.dims()), sum);
  };
  // Everything is in blocks, but a picture of few channels is read as it is. Where oneDNN has only
  // its reference loops for that (fewer channels than a block in the middle of a network), the
  // other way round, then plain on both sides.
  const bool thin = x[1] <= 4 && group == 1 && !in[0].layout;
  Prepared p = made(thin, false);
  if (p.how.starts_with("ref")) p = made(!thin, false);
  if (p.how.starts_with("ref")) p = made(true, true);
  return p;
}

std::optional<Prepared> prepare_conv_transpose(const OpCall& call, std::span<const Operand> in,
                                               std::span<const Spec> out) {
  if (!all_float(in, out) || !image_rank(in[0].spec.shape)) return {};
  const Shape& x = in[0].spec.shape;
  const Shape& w = in[1].spec.shape;
  const Shape& y = out[0].shape;
  const int64_t group = call.attrs.i("group", 1);
  if (group != 1 || call.attrs.has("post")) return {};
  const bool bias = in.size() > 2 && in[2].present;
  // The window slides over the output here, so input and output change places.
  Windows win;
  const Window window = conv_transpose_window(call.attrs, spatial(x), spatial(w));
  if (!transposed_windows(window, x, y, win)) return {};
  const auto f32 = memory::data_type::f32;
  const memory::desc weights(weight_dims(w, 1, true), f32, memory::format_tag::any);
  const memory::desc bias_desc = bias ? plain_desc({y[1]}) : memory::desc();
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  // In memory the weights are [I, O, k…]; oneDNN counts them as [O, I, k…].
  memory::dims strides(w.rank());
  for (size_t i = 0; i < w.rank(); ++i) strides[i] = w.numel(i + 1, w.rank());
  std::swap(strides[0], strides[1]);
  const memory::desc plain(weights.dims(), f32, strides);
  const auto made = [&](bool in_blocks) {
    const memory::desc src = desc_of(in[0].spec, in_blocks ? image_layout(x) : nullptr);
    const memory::desc dst = desc_of(out[0], in_blocks ? image_layout(y) : nullptr);
    const dnnl::deconvolution_forward::desc desc(
        dnnl::prop_kind::forward_inference, dnnl::algorithm::deconvolution_direct, src, weights,
        bias_desc, dst, win.strides, win.dilations, win.begin, win.end);
    const dnnl::deconvolution_forward::primitive_desc pd(desc, attr, engine());
    return prepared<dnnl::deconvolution_forward>(pd, in, plain, -1);
  };
  // For wide windows and strides on blocks oneDNN has only its reference loops, a thousand times
  // slower than its products on plain rows.
  Prepared p = made(true);
  if (p.how.starts_with("ref")) p = made(false);
  return p;
}

}  // namespace hub::onednn
