// Attention and its gradient as batches of matrix products.
#include <cmath>

#include "runtime/device/onednn/kernels_softmax.h"
#include "runtime/device/onednn/kernels_train.h"
#include "runtime/device/onednn/matmul.h"

namespace hub::onednn {
namespace {

using dnnl::memory;

/// Sizes of a call, and the views of its operands: heads are strides into the rows, so that nothing
/// is transposed.
struct Heads {
  int64_t batch, rows, keys, width, value_width, heads, depth, value_depth;
  float scale;

  Heads(const OpCall& call, std::span<const Operand> in)
      : batch(in[0].spec.shape[0]),
        rows(in[0].spec.shape[1]),
        keys(in[1].spec.shape[1]),
        width(in[0].spec.shape[2]),
        value_width(in[2].spec.shape[2]),
        heads(call.attrs.i("heads")),
        depth(width / heads),
        value_depth(value_width / heads),
        scale(
            static_cast<float>(call.attrs.f("scale", 1 / std::sqrt(static_cast<double>(depth))))) {}

  /// [batch, heads, length, d] of [batch, length, heads * d].
  memory::desc view(int64_t length, int64_t d) const {
    return strided({batch, heads, length, d}, {length * heads * d, d, heads * d, 1});
  }
  memory::desc turned(int64_t length, int64_t d) const {
    return strided({batch, heads, d, length}, {length * heads * d, d, 1, heads * d});
  }
  memory::desc scores() const { return plain_desc({batch, heads, rows, keys}); }
  memory::desc scores_turned() const {
    return strided({batch, heads, keys, rows}, {heads * rows * keys, rows * keys, 1, keys});
  }
  Scores about(const void* mask, const void* bias, const BiasSteps& steps) const {
    return {batch,
            heads,
            rows,
            keys,
            scale,
            static_cast<const int64_t*>(mask),
            static_cast<const float*>(bias),
            steps};
  }
  /// In memory, a whole number of cache lines.
  size_t score_bytes() const { return (scores().get_size() + 63) / 64 * 64; }
};

/// A product with the descriptions of its operands.
struct Made {
  memory::desc a, b, c;
  dnnl::matmul::primitive_desc pd;
  dnnl::matmul primitive;

  Made(memory::desc first, memory::desc second, memory::desc result)
      : a(std::move(first)),
        b(std::move(second)),
        c(std::move(result)),
        pd(product(a, b, c).pd),
        primitive(pd) {}
  size_t scratch() const { return pd.scratchpad_desc().get_size(); }
  Step bind(const void* from_a, const void* from_b, void* to, void* rest) const {
    return primitive_step(primitive, {{DNNL_ARG_SRC, a, const_cast<void*>(from_a)},
                                      {DNNL_ARG_WEIGHTS, b, const_cast<void*>(from_b)},
                                      {DNNL_ARG_DST, c, to},
                                      {DNNL_ARG_SCRATCHPAD, pd.scratchpad_desc(), rest}});
  }
};

bool usable(std::span<const Operand> in) {
  const bool mask = in.size() > 3 && in[3].present;
  return all_float(in.subspan(0, 3), {}) && (!mask || in[3].spec.dtype == DType::i64);
}

}  // namespace

std::optional<Prepared> prepare_attention(const OpCall& call, std::span<const Operand> in,
                                          std::span<const Spec> out) {
  if (!usable(in) || !all_float({}, out)) return {};
  const Heads h(call, in);
  if (h.scale < 0) return {};
  const Made scores(h.view(h.rows, h.depth), h.turned(h.keys, h.depth), h.scores());
  const Made mix(h.scores(), h.view(h.keys, h.value_depth), h.view(h.rows, h.value_depth));
  const bool bias = in.size() > 4 && in[4].present;
  if (bias && !all_float(in.subspan(4, 1), {})) return {};
  const BiasSteps steps = bias ? BiasSteps(in[4].spec.shape) : BiasSteps();
  Prepared p;
  p.in.assign(in.size(), nullptr);
  p.out = {nullptr};
  p.scratch = h.score_bytes() + std::max(scores.scratch(), mix.scratch());
  p.how = std::string(scores.pd.impl_info_str()) + " softmax";
  p.bind = [=](const Places& at) -> Step {
    auto* weights = static_cast<float*>(at.scratch);
    void* rest = static_cast<std::byte*>(at.scratch) + h.score_bytes();
    const Scores about =
        h.about(at.in.size() > 3 ? at.in[3] : nullptr, bias ? at.in[4] : nullptr, steps);
    return [=, multiply = scores.bind(at.in[0], at.in[1], weights, rest),
            combine = mix.bind(weights, at.in[2], at.out[0], rest)] {
      multiply();
      attention_softmax(weights, about);
      combine();
    };
  };
  return p;
}

/// Inputs q, k, v, mask, dy. The weights are computed once more.
std::optional<Prepared> prepare_attention_grad(const OpCall& call, std::span<const Operand> in,
                                               std::span<const Spec> out) {
  if (!usable(in) || !all_float(in.subspan(4, 1), out) || out.size() != 3) return {};
  for (ValueId id : call.out) {
    if (id == absent) return {};
  }
  const Heads h(call, in);
  if (h.scale < 0) return {};
  const Made scores(h.view(h.rows, h.depth), h.turned(h.keys, h.depth), h.scores());
  const Made to_v(h.scores_turned(), h.view(h.rows, h.value_depth), h.view(h.keys, h.value_depth));
  const Made to_scores(h.view(h.rows, h.value_depth), h.turned(h.keys, h.value_depth), h.scores());
  const Made to_q(h.scores(), h.view(h.keys, h.depth), h.view(h.rows, h.depth));
  const Made to_k(h.scores_turned(), h.view(h.rows, h.depth), h.view(h.keys, h.depth));
  Prepared p;
  p.in.assign(in.size(), nullptr);
  p.out.assign(3, nullptr);
  p.scratch = 2 * h.score_bytes() + std::max({scores.scratch(), to_v.scratch(), to_scores.scratch(),
                                              to_q.scratch(), to_k.scratch()});
  p.how = std::string(scores.pd.impl_info_str()) + " softmax";
  p.bind = [=](const Places& at) -> Step {
    auto* weights = static_cast<float*>(at.scratch);
    auto* slopes = reinterpret_cast<float*>(static_cast<std::byte*>(at.scratch) + h.score_bytes());
    void* rest = static_cast<std::byte*>(at.scratch) + 2 * h.score_bytes();
    const Scores about = h.about(at.in[3], nullptr, {});
    return [=, again = scores.bind(at.in[0], at.in[1], weights, rest),
            dv = to_v.bind(weights, at.in[4], at.out[2], rest),
            dp = to_scores.bind(at.in[4], at.in[2], slopes, rest),
            dq = to_q.bind(slopes, at.in[1], at.out[0], rest),
            dk = to_k.bind(slopes, at.in[0], at.out[1], rest)] {
      again();
      attention_softmax(weights, about);
      dv();
      dp();
      score_grad_rows(weights, slopes, h.scale, h.batch * h.heads * h.rows, h.keys);
      dq();
      dk();
    };
  };
  return p;
}

}  // namespace hub::onednn
