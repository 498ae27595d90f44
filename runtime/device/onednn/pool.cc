// Pools and their gradients in blocked layout.
#include "runtime/device/onednn/kernels_train.h"
#include "runtime/device/onednn/onednn.h"
#include "runtime/ops/window.h"

namespace hub::onednn {

using dnnl::memory;

std::optional<Prepared> prepare_pool(const OpCall& call, std::span<const Operand> in,
                                     std::span<const Spec> out) {
  if (!all_float(in, out)) return prepare_integer_pool(call, in, out);
  if (call.out.size() != 1) return {};
  const Shape& x = in[0].spec.shape;
  const Shape& y = out[0].shape;
  if (x.rank() < 3 || x.rank() > 5 || !in[0].layout) return {};
  const Window window = pool_window(call.attrs, spatial(x));
  if (window.uneven) return {};
  const std::string kind = call.attrs.s("kind", "max");
  if (kind != "max" && kind != "avg") return {};
  const bool average = kind == "avg";
  const bool include = call.attrs.i("count_include_pad", 0) != 0;
  memory::dims kernel;
  memory::dims strides;
  memory::dims dilations;
  memory::dims begin;
  memory::dims end;
  for (size_t i = 0; i < window.rank(); ++i) {
    kernel.push_back(window.kernel[i]);
    strides.push_back(window.strides[i]);
    dilations.push_back(window.dilations[i] - 1);
    begin.push_back(window.pad_begin[i]);
    end.push_back(window.reach_end(i, x[i + 2]));
    // oneDNN would count what a ceiling window reaches past the declared pads.
    if (average && include && end.back() > window.pad_end[i]) return {};
  }
  const memory::desc src = desc_of(in[0].spec, image_layout(x));
  const memory::desc dst = desc_of(out[0], image_layout(y));
  const auto algorithm = !average  ? dnnl::algorithm::pooling_max
                         : include ? dnnl::algorithm::pooling_avg_include_padding
                                   : dnnl::algorithm::pooling_avg_exclude_padding;
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  const dnnl::pooling_v2_forward::desc desc(dnnl::prop_kind::forward_inference, algorithm, src, dst,
                                            strides, kernel, dilations, begin, end);
  const dnnl::pooling_v2_forward::primitive_desc pd(desc, attr, engine());
  Prepared p;
  p.in = {layout_of(src)};
  p.out = {layout_of(dst)};
  p.scratch = pd.scratchpad_desc().get_size();
  p.how = pd.impl_info_str();
  p.bind = [pd, primitive = dnnl::pooling_v2_forward(pd)](const Places& at) {
    return primitive_step(primitive, {{DNNL_ARG_SRC, pd.src_desc(), at.in[0]},
                                      {DNNL_ARG_DST, pd.dst_desc(), at.out[0]},
                                      {DNNL_ARG_SCRATCHPAD, pd.scratchpad_desc(), at.scratch}});
  };
  return p;
}

std::optional<Prepared> prepare_pool_grad(const OpCall& call, std::span<const Operand> in,
                                          std::span<const Spec> out) {
  if (!all_float(in, out)) return {};
  const Shape& x = in[0].spec.shape;
  const Shape& y = in[1].spec.shape;
  if (x.rank() != 4) return {};
  const Window w = pool_window(call.attrs, spatial(x));
  const std::string kind = call.attrs.s("kind", "max");
  if (w.uneven || (kind != "max" && kind != "avg")) return {};
  const bool padding = call.attrs.i("count_include_pad", 0) != 0;
  for (size_t i = 0; i < 2; ++i) {
    // What a ceiling window reaches past the declared pads does not count.
    if (padding && w.reach_end(i, x[i + 2]) > w.pad_end[i]) return {};
  }
  const int64_t block = channel_block();
  const WindowShape shape{x[0] * ((x[1] + block - 1) / block),
                          x[2],
                          x[3],
                          y[2],
                          y[3],
                          w.kernel[0],
                          w.kernel[1],
                          w.strides[0],
                          w.strides[1],
                          w.dilations[0],
                          w.dilations[1],
                          w.pad_begin[0],
                          w.pad_begin[1],
                          block};
  Prepared p;
  // Of a mean the numbers of x do not matter: they are taken as they are.
  p.in = {kind == "max" ? image_layout(x) : in[0].layout, image_layout(y)};
  p.out = {image_layout(x)};
  p.how = "loop";
  p.bind = [shape, padding, max = kind == "max"](const Places& at) -> Step {
    const auto* from = static_cast<const float*>(at.in[0]);
    const auto* dy = static_cast<const float*>(at.in[1]);
    auto* dx = static_cast<float*>(at.out[0]);
    return [=] {
      max ? max_pool_grad(shape, from, dy, dx) : average_pool_grad(shape, padding, dy, dx);
    };
  };
  return p;
}

}  // namespace hub::onednn
