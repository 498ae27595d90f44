// The table of the CPU device, layouts, reorders.
#include <algorithm>
#include <cstring>
#include <map>

#include "base/error.h"
#include "runtime/device/onednn/onednn.h"
#include "runtime/device/onednn/panels.h"
#include "runtime/empty.h"

namespace hub {
namespace onednn {

using dnnl::memory;

bool Blocked::same(const Layout& other) const {
  const auto* o = dynamic_cast<const Blocked*>(&other);
  return o != nullptr && o->desc_ == desc_ && o->plain_ == plain_;
}

std::string Blocked::save() const {
  std::string s(reinterpret_cast<const char*>(&desc_.data), sizeof desc_.data);
  return s.append(reinterpret_cast<const char*>(&plain_.data), sizeof plain_.data);
}

dnnl::engine& engine() {
  static dnnl::engine engine = [] {
    dnnl::set_jit_profiling_flags(0);  // telling a profiler of every kernel costs 4 % of a start
    return dnnl::engine(dnnl::engine::kind::cpu, 0);
  }();
  return engine;
}

dnnl::stream& stream() {
  static dnnl::stream stream(engine());
  return stream;
}

memory::dims dims_of(const Shape& shape) { return shape.vec(); }

memory::desc plain_desc(const memory::dims& dims) {
  memory::dims strides(dims.size());
  memory::dim stride = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= std::max<memory::dim>(dims[i], 1);
  }
  return {dims, memory::data_type::f32, strides};
}

memory::desc desc_of(const Spec& spec, const LayoutPtr& layout) {
  if (layout) return dynamic_cast<const Blocked&>(*layout).desc();
  return plain_desc(spec.shape.rank() == 0 ? memory::dims{1} : dims_of(spec.shape));
}

LayoutPtr layout_of(const memory::desc& desc) { return layout_of(desc, plain_desc(desc.dims())); }

LayoutPtr layout_of(const memory::desc& desc, const memory::desc& plain) {
  if (desc == plain) return nullptr;
  return std::make_shared<Blocked>(desc, plain);
}

std::span<const int64_t> spatial(const Shape& shape) { return {shape.begin() + 2, shape.end()}; }

int64_t channel_block() {
  static const int64_t block = dnnl::get_effective_cpu_isa() >= dnnl::cpu_isa::avx512_core ? 16 : 8;
  return block;
}

LayoutPtr image_layout(const Shape& shape) {
  using tag = memory::format_tag;
  const bool wide = channel_block() == 16;
  const tag t = shape.rank() == 3   ? (wide ? tag::nCw16c : tag::nCw8c)
                : shape.rank() == 4 ? (wide ? tag::nChw16c : tag::nChw8c)
                                    : (wide ? tag::nCdhw16c : tag::nCdhw8c);
  return layout_of(memory::desc(dims_of(shape), memory::data_type::f32, t));
}

bool is_image_layout(const Shape& shape, const LayoutPtr& layout) {
  return layout && shape.rank() >= 3 && shape.rank() <= 5 &&
         same_layout(layout, image_layout(shape));
}

bool all_float(std::span<const Operand> in, std::span<const Spec> out) {
  for (const Operand& o : in) {
    if (o.present && (o.spec.dtype != DType::f32 || o.spec.shape.numel() == 0)) return false;
  }
  for (const Spec& s : out) {
    if (s.dtype != DType::f32 || s.shape.numel() == 0) return false;
  }
  return true;
}

dnnl::primitive_attr post_attr(const std::vector<Post>& posts, const memory::desc& residual,
                               int& sum_index) {
  using dnnl::algorithm;
  dnnl::post_ops ops;
  sum_index = -1;
  for (const Post& p : posts) {
    auto eltwise = [&](algorithm a, double alpha, double beta) {
      ops.append_eltwise(1.0F, a, static_cast<float>(alpha), static_cast<float>(beta));
    };
    if (p.kind == "sum") {
      sum_index = ops.len();
      ops.append_binary(algorithm::binary_add, residual);
    } else if (p.kind == "relu") {
      eltwise(algorithm::eltwise_relu, 0, 0);
    } else if (p.kind == "leaky_relu") {
      eltwise(algorithm::eltwise_relu, p.a, 0);
    } else if (p.kind == "clip") {
      eltwise(algorithm::eltwise_clip, std::max(p.a, -3.4e38), std::min(p.b, 3.4e38));
    } else if (p.kind == "linear") {
      eltwise(algorithm::eltwise_linear, p.a, p.b);
    } else if (p.kind == "sigmoid") {
      eltwise(algorithm::eltwise_logistic, 0, 0);
    } else if (p.kind == "tanh") {
      eltwise(algorithm::eltwise_tanh, 0, 0);
    } else if (p.kind == "hard_sigmoid") {
      eltwise(algorithm::eltwise_linear, p.a, p.b);
      eltwise(algorithm::eltwise_clip, 0, 1);
    } else if (p.kind == "hard_swish") {
      eltwise(algorithm::eltwise_hardswish, 0, 0);
    } else if (p.kind == "swish") {
      eltwise(algorithm::eltwise_swish, p.a, 0);
    } else if (p.kind == "gelu") {
      eltwise(algorithm::eltwise_gelu_erf, 0, 0);
    } else if (p.kind == "abs") {
      eltwise(algorithm::eltwise_abs, 0, 0);
    } else if (p.kind == "sqrt") {
      eltwise(algorithm::eltwise_sqrt, 0, 0);
    } else if (p.kind == "square") {
      eltwise(algorithm::eltwise_square, 0, 0);
    } else {
      fail(Code::unsupported, "unknown fused step '", p.kind, "'");
    }
  }
  dnnl::primitive_attr attr;
  attr.set_post_ops(ops);
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attr;
}

Step primitive_step(const dnnl::primitive& primitive,
                    std::vector<std::tuple<int, memory::desc, void*>> arguments) {
  // As oneDNN's C interface takes them: that of C++ makes a map and a list of them each time.
  struct Bound {
    dnnl::primitive primitive;
    std::vector<memory> memories;
    std::vector<dnnl_exec_arg_t> arguments;
  };
  auto bound = std::make_shared<Bound>();
  bound->primitive = primitive;
  for (const auto& [id, desc, place] : arguments) {
    bound->memories.emplace_back(desc, engine(), place);
    bound->arguments.push_back({id, bound->memories.back().get()});
  }
  return [bound] {
    const auto& a = bound->arguments;
    dnnl::error::wrap_c_api(dnnl_primitive_execute(bound->primitive.get(), stream().get(),
                                                   static_cast<int>(a.size()), a.data()),
                            "oneDNN could not execute a primitive");
  };
}

namespace {

const std::map<std::string_view, Prepare>& table() {
  static const std::map<std::string_view, Prepare> kernels = [] {
    std::map<std::string_view, Prepare> t = {
        {"conv", prepare_conv},
        {"conv_transpose", prepare_conv_transpose},
        {"pool", prepare_pool},
        {"matmul", prepare_matmul},
        {"attention", prepare_attention},
        {"softmax", prepare_softmax},
        {"layer_norm", prepare_layer_norm},
        {"pad", prepare_pad},
        {"reduce_mean", prepare_reduce},
        {"reduce_sum", prepare_reduce},
        {"batch_norm", prepare_batch_norm},
        {"concat", prepare_concat},
        {"split", prepare_split},
        {"slice", prepare_slice},
        {"resize", prepare_resize},
        {"transpose", prepare_transpose},
        {"gru", prepare_recurrent},
        {"lstm", prepare_recurrent},
        {"fluid_gru", prepare_fluid_gru},
        {"depth_to_space", prepare_depth_to_space},
        {"quantize", prepare_quantize},
        {"dequantize", prepare_dequantize},
        {"quantized_conv", prepare_quantized_conv},
        {"quantized_matmul", prepare_quantized_matmul},
        {"quantized_add", prepare_quantized_add},
        {"conv_input_grad", prepare_conv_input_grad},
        {"conv_weight_grad", prepare_conv_weight_grad},
        {"conv_transpose_input_grad", prepare_conv_transpose_input_grad},
        {"conv_transpose_weight_grad", prepare_conv_transpose_weight_grad},
        {"pool_grad", prepare_pool_grad},
        {"batch_norm_train", prepare_batch_norm_train},
        {"batch_norm_train_held", prepare_batch_norm_train},
        {"batch_norm_again", prepare_batch_norm_again},
        {"batch_norm_grad", prepare_batch_norm_grad},
        {"batch_norm_grad_held", prepare_batch_norm_grad},
        {"softmax_grad", prepare_softmax_grad},
        {"layer_norm_grad", prepare_layer_norm_grad},
        {"attention_grad", prepare_attention_grad},
        {"sum_to", prepare_sum_to},
    };
    for (std::string_view op : {"reshape", "reshape_as", "matmul_operand", "squeeze", "unsqueeze",
                                "flatten", "identity"}) {
      t[op] = prepare_view;
    }
    for (std::string_view op : {"relu", "sigmoid", "tanh", "gelu", "hard_swish", "hard_sigmoid",
                                "swish", "leaky_relu", "clip", "abs", "sqrt", "exp"}) {
      t[op] = prepare_unary;
    }
    for (std::string_view op : {"add", "sub", "mul", "div", "max", "min"}) t[op] = prepare_binary;
    for (std::string_view op :
         {"relu_grad", "leaky_relu_grad", "clip_grad", "sigmoid_grad", "tanh_grad",
          "hard_sigmoid_grad", "hard_swish_grad", "swish_grad", "gelu_grad"}) {
      t[op] = prepare_slope;
    }
    for (std::string_view op : {"sgd", "momentum", "adam"}) t[op] = prepare_update;
    return t;
  }();
  return kernels;
}

/// Of implementations that oneDNN falls back to.
std::string why_slow(std::string_view how) {
  const auto has = [&](std::string_view word) { return how.find(word) != std::string_view::npos; };
  if (has("ref")) return "oneDNN has only its plain loops for this call";
  if (has("gemm:")) return "oneDNN has no direct kernel for this call, only a product of matrices";
  if (how == "simple:any") return "oneDNN has no compiled kernel for these layouts";
  return {};
}

/// Why a kernel left a call to the reference, as far as its operands tell.
std::string why_refused(const OpCall& call, std::span<const Operand> in) {
  for (size_t i = 0; i < in.size(); ++i) {
    const DType dtype = in[i].spec.dtype;
    const bool small = dtype == DType::i8 || dtype == DType::u8;
    const bool real = dtype == DType::f64 || dtype == DType::f16 || dtype == DType::bf16;
    if (in[i].present && (real || small || i == 0) && dtype != DType::f32)
      return concat("no kernel of its own for ", call.op->name, " of ", name_of(dtype));
  }
  return concat("the kernel for ", call.op->name,
                " does not take these attributes, shapes or layouts");
}

class OneDnn final : public Reference {
 public:
  std::string_view name() const override { return "cpu"; }
  std::string kind() const override {
    const auto* v = dnnl::version();
    return concat("cpu ", v->major, ".", v->minor, ".", v->patch, " isa ",
                  static_cast<int>(dnnl::get_effective_cpu_isa()));
  }

  Prepared prepare(const OpCall& call, std::span<const Operand> in,
                   std::span<const Spec> out) override {
    // Kernels need not know tensors without elements.
    const bool empty =
        std::any_of(in.begin(), in.end(), [](const Operand& o) { return is_empty(o.spec); }) ||
        std::any_of(out.begin(), out.end(), is_empty);
    std::string why;
    if (const auto it = table().find(call.op->name); it != table().end() && !empty) {
      try {
        if (auto prepared = it->second(call, in, out)) {
          if (prepared->why.empty()) prepared->why = why_slow(prepared->how);
          return std::move(*prepared);
        }
        why = why_refused(call, in);
      } catch (const dnnl::error& e) {
        // oneDNN has no implementation for this one: the reference has.
        why = concat("oneDNN: ", e.what());
      }
    } else if (!empty) {
      why = concat("no kernel of its own for ", call.op->name);
    }
    Prepared prepared = Reference::prepare(call, in, out);
    prepared.why = std::move(why);
    return prepared;
  }

  Step reorder(const Spec& spec, const LayoutPtr& from, const void* src, const LayoutPtr& to,
               void* dst) override {
    if (!from && !to) return Reference::reorder(spec, from, src, to, dst);
    if (dynamic_cast<const Packing*>(from.get()) || dynamic_cast<const Packing*>(to.get()))
      return [=, this] { repack(spec, from, src, to, dst); };
    const auto& blocked = dynamic_cast<const Blocked&>(to ? *to : *from);
    const memory::desc a = from ? desc_of(spec, from) : blocked.plain();
    const memory::desc b = to ? desc_of(spec, to) : blocked.plain();
    const dnnl::reorder::primitive_desc pd(engine(), a, engine(), b);
    return primitive_step(dnnl::reorder(pd),
                          {{DNNL_ARG_FROM, a, const_cast<void*>(src)}, {DNNL_ARG_TO, b, dst}});
  }

  LayoutPtr restore(std::string_view saved) override {
    if (auto packing = Packing::restore(saved)) return packing;
    memory::desc desc;
    memory::desc plain;
    if (saved.size() != sizeof desc.data + sizeof plain.data) return nullptr;
    std::memcpy(&desc.data, saved.data(), sizeof desc.data);
    std::memcpy(&plain.data, saved.data() + sizeof desc.data, sizeof plain.data);
    return std::make_shared<Blocked>(desc, plain);
  }

 private:
  /// To or from a layout of our own, by way of the plain one.
  void repack(const Spec& spec, const LayoutPtr& from, const void* src, const LayoutPtr& to,
              void* dst) {
    if (same_layout(from, to)) {
      std::memcpy(dst, src, from->bytes());
      return;
    }
    Tensor plain;
    if (from) {
      plain = Tensor(spec.dtype, spec.shape);
      if (const auto* packing = dynamic_cast<const Packing*>(from.get()))
        packing->unpack(static_cast<const float*>(src), plain.data<float>());
      else
        reorder(spec, from, src, nullptr, plain.raw())();
      src = plain.raw();
    }
    if (const auto* packing = dynamic_cast<const Packing*>(to.get()))
      packing->pack(static_cast<const float*>(src), static_cast<float*>(dst));
    else if (to)
      reorder(spec, nullptr, src, to, dst)();
    else
      std::memcpy(dst, src, bytes_of(spec));
  }
};

}  // namespace
}  // namespace onednn

Device& open_onednn() {
  static onednn::OneDnn device;
  return device;
}

}  // namespace hub
