// Pools in blocked layout.
#include "runtime/device/onednn/onednn.h"
#include "runtime/ops/window.h"

namespace hub::onednn {

using dnnl::memory;

std::optional<Prepared> prepare_pool(const OpCall& call, std::span<const Operand> in,
                                     std::span<const Spec> out) {
  if (call.out.size() != 1 || !all_float(in, out)) return {};
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

}  // namespace hub::onednn
