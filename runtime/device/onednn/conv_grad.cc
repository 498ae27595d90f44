// Gradients of convolutions through oneDNN, pictures in blocks. A transposed convolution is the
// gradient of one, so its own gradients are a convolution and that one's weight gradient.
#include "runtime/device/onednn/conv.h"
#include "runtime/device/onednn/kernels_train.h"

namespace hub::onednn {
namespace {

using dnnl::memory;
constexpr auto f32 = memory::data_type::f32;

/// The convolution whose gradient is taken: window over the large picture, one number a place in
/// the small one. Of few channels the large picture is read as it is when it lies so.
struct Conv {
  memory::desc large, small, weights, plain;
  Windows win;

  dnnl::convolution_forward::primitive_desc forward(dnnl::prop_kind kind,
                                                    const memory::desc& bias) const {
    dnnl::primitive_attr attr;
    attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    const dnnl::convolution_forward::desc desc(kind, dnnl::algorithm::convolution_direct, large,
                                               weights, bias, small, win.strides, win.dilations,
                                               win.begin, win.end);
    return {desc, attr, engine()};
  }
};

Conv conv_of(const Shape& large, const Shape& small, const Shape& w, int64_t group, bool plain,
             Windows win) {
  Conv c;
  const Spec large_spec{DType::f32, large};
  const bool thin = plain && large[1] <= 4 && group == 1;
  c.large = thin ? plain_desc(dims_of(large)) : desc_of(large_spec, image_layout(large));
  c.small = desc_of({DType::f32, small}, image_layout(small));
  c.weights = memory::desc(weight_dims(w, group, false), f32, memory::format_tag::any);
  c.plain = plain_desc(c.weights.dims());
  c.win = std::move(win);
  return c;
}

std::optional<Prepared> input_grad(const Conv& c) {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  const dnnl::convolution_backward_data::desc desc(dnnl::algorithm::convolution_direct, c.large,
                                                   c.weights, c.small, c.win.strides,
                                                   c.win.dilations, c.win.begin, c.win.end);
  const dnnl::convolution_backward_data::primitive_desc pd(
      desc, attr, engine(), c.forward(dnnl::prop_kind::forward_training, {}));
  Prepared p;
  p.in = {layout_of(c.small), layout_of(pd.weights_desc(), c.plain), nullptr};
  p.out = {layout_of(c.large)};
  p.scratch = pd.scratchpad_desc().get_size();
  p.how = pd.impl_info_str();
  p.bind = [pd, primitive = dnnl::convolution_backward_data(pd)](const Places& at) {
    return primitive_step(primitive, {{DNNL_ARG_DIFF_DST, pd.diff_dst_desc(), at.in[0]},
                                      {DNNL_ARG_WEIGHTS, pd.weights_desc(), at.in[1]},
                                      {DNNL_ARG_DIFF_SRC, pd.diff_src_desc(), at.out[0]},
                                      {DNNL_ARG_SCRATCHPAD, pd.scratchpad_desc(), at.scratch}});
  };
  return p;
}

/// Inputs: the large picture at `large_at`, the small one at the other place. With `bias`, output 1
/// is the sum of the small picture by channel.
std::optional<Prepared> weight_grad(const Conv& c, size_t large_at, bool bias) {
  const memory::desc bias_desc = bias ? plain_desc({c.small.dims()[1]}) : memory::desc();
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  const dnnl::convolution_backward_weights::desc desc(dnnl::algorithm::convolution_direct, c.large,
                                                      c.weights, bias_desc, c.small, c.win.strides,
                                                      c.win.dilations, c.win.begin, c.win.end);
  const dnnl::convolution_backward_weights::primitive_desc pd(
      desc, attr, engine(), c.forward(dnnl::prop_kind::forward_training, bias_desc));
  Prepared p;
  p.in.assign(3, nullptr);
  p.in[large_at] = layout_of(c.large);
  p.in[1 - large_at] = layout_of(c.small);
  p.out = {layout_of(pd.diff_weights_desc(), c.plain), nullptr};
  p.scratch = pd.scratchpad_desc().get_size();
  p.how = pd.impl_info_str();
  p.bind = [pd, large_at, bias,
            primitive = dnnl::convolution_backward_weights(pd)](const Places& at) {
    std::vector<std::tuple<int, memory::desc, void*>> args = {
        {DNNL_ARG_SRC, pd.src_desc(), at.in[large_at]},
        {DNNL_ARG_DIFF_DST, pd.diff_dst_desc(), at.in[1 - large_at]},
        {DNNL_ARG_DIFF_WEIGHTS, pd.diff_weights_desc(), at.out[0]},
        {DNNL_ARG_SCRATCHPAD, pd.scratchpad_desc(), at.scratch}};
    if (bias) args.emplace_back(DNNL_ARG_DIFF_BIAS, pd.diff_bias_desc(), at.out[1]);
    return primitive_step(primitive, std::move(args));
  };
  return p;
}

bool fits(const OpCall& call, std::span<const Operand> in, std::span<const Spec> out) {
  return all_float(in.subspan(0, 2), out.subspan(0, call.out[0] == absent ? 0 : 1)) &&
         call.out[0] != absent && image_rank(in[0].spec.shape);
}

bool wants_bias(const OpCall& call) { return call.out.size() > 1 && call.out[1] != absent; }

/// Only the sum of dy by channel is asked for, or it is asked for besides.
Step bias_step(const Shape& y, const void* dy, void* to) {
  return [=] {
    channel_sums(static_cast<const float*>(dy), static_cast<float*>(to), y[0], y[1],
                 y.numel(2, y.rank()), channel_block());
  };
}

/// Nothing when it is not a small convolution of each channel by itself.
std::optional<Prepared> depthwise(const Window& window, const Shape& x, const Shape& y,
                                  const Shape& w, bool bias) {
  const bool single = w.rank() == 4 && w[1] == 1 && w[0] == x[1] && w[2] == w[3];
  if (!single || (w[2] != 3 && w[2] != 5) || window.dilations[0] != 1 || window.dilations[1] != 1)
    return {};
  const int64_t block = channel_block();
  const WindowShape s{x[0] * ((x[1] + block - 1) / block),
                      x[2],
                      x[3],
                      y[2],
                      y[3],
                      w[2],
                      w[3],
                      window.strides[0],
                      window.strides[1],
                      1,
                      1,
                      window.pad_begin[0],
                      window.pad_begin[1],
                      block};
  Prepared p;
  p.in = {image_layout(x), image_layout(y), nullptr};
  p.out = {nullptr, nullptr};
  p.scratch = static_cast<size_t>(s.planes * w[2] * w[3] * block) * sizeof(float);
  p.how = "loop";
  p.bind = [=, channels = x[1]](const Places& at) -> Step {
    const auto* from = static_cast<const float*>(at.in[0]);
    const auto* dy = static_cast<const float*>(at.in[1]);
    return [=, dw = static_cast<float*>(at.out[0]), scratch = static_cast<float*>(at.scratch),
            sums = bias ? bias_step(y, dy, at.out[1]) : Step()] {
      depthwise_weight_grad(s, channels, from, dy, dw, scratch);
      if (sums) sums();
    };
  };
  return p;
}

}  // namespace

std::optional<Prepared> prepare_conv_input_grad(const OpCall& call, std::span<const Operand> in,
                                                std::span<const Spec> out) {
  if (!fits(call, in, out)) return {};
  const Shape& x = in[2].spec.shape;
  const Shape& w = in[1].spec.shape;
  const Window window = conv_window(call.attrs, spatial(x), spatial(w));
  return input_grad(
      conv_of(x, in[0].spec.shape, w, call.attrs.i("group", 1), false, windows_of(window, x)));
}

std::optional<Prepared> prepare_conv_weight_grad(const OpCall& call, std::span<const Operand> in,
                                                 std::span<const Spec> out) {
  if (!fits(call, in, out)) return {};
  const Shape& x = in[0].spec.shape;
  const Shape& w = in[2].spec.shape;
  const Window window = conv_window(call.attrs, spatial(x), spatial(w));
  auto p = weight_grad(conv_of(x, in[1].spec.shape, w, call.attrs.i("group", 1), !in[0].layout,
                               windows_of(window, x)),
                       0, wants_bias(call));
  if (p && !p->how.starts_with("ref")) return p;
  if (auto own = depthwise(window, x, in[1].spec.shape, w, wants_bias(call))) return own;
  return p;
}

std::optional<Prepared> prepare_conv_transpose_input_grad(const OpCall& call,
                                                          std::span<const Operand> in,
                                                          std::span<const Spec> out) {
  if (!fits(call, in, out)) return {};
  const Shape& y = in[0].spec.shape;
  const Shape& x = in[2].spec.shape;
  const Shape& w = in[1].spec.shape;
  Windows win;
  const Window window = conv_transpose_window(call.attrs, spatial(x), spatial(w));
  if (!transposed_windows(window, x, y, win)) return {};
  const Conv c = conv_of(y, x, w, call.attrs.i("group", 1), !in[0].layout, win);
  const auto pd = c.forward(dnnl::prop_kind::forward_inference, {});
  Prepared p;
  p.in = {layout_of(c.large), layout_of(pd.weights_desc(), c.plain), nullptr};
  p.out = {layout_of(c.small)};
  p.scratch = pd.scratchpad_desc().get_size();
  p.how = pd.impl_info_str();
  p.bind = [pd, primitive = dnnl::convolution_forward(pd)](const Places& at) {
    return primitive_step(primitive, {{DNNL_ARG_SRC, pd.src_desc(), at.in[0]},
                                      {DNNL_ARG_WEIGHTS, pd.weights_desc(), at.in[1]},
                                      {DNNL_ARG_DST, pd.dst_desc(), at.out[0]},
                                      {DNNL_ARG_SCRATCHPAD, pd.scratchpad_desc(), at.scratch}});
  };
  return p;
}

std::optional<Prepared> prepare_conv_transpose_weight_grad(const OpCall& call,
                                                           std::span<const Operand> in,
                                                           std::span<const Spec> out) {
  if (!fits(call, in, out)) return {};
  const Shape& x = in[0].spec.shape;
  const Shape& y = in[1].spec.shape;
  const Shape& w = in[2].spec.shape;
  Windows win;
  const Window window = conv_transpose_window(call.attrs, spatial(x), spatial(w));
  if (!transposed_windows(window, x, y, win)) return {};
  auto p = weight_grad(conv_of(y, x, w, call.attrs.i("group", 1), false, win), 1, false);
  if (!p || !wants_bias(call)) return p;
  p->bind = [weights = p->bind, y](const Places& at) -> Step {
    return [step = weights(at), sums = bias_step(y, at.in[1], at.out[1])] {
      step();
      sums();
    };
  };
  return p;
}

}  // namespace hub::onednn
