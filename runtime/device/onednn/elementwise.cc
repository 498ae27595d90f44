// Unary and binary operators on whatever layout their input has.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "runtime/device/onednn/kernels.h"
#include "runtime/device/onednn/kernels_train.h"
#include "runtime/device/onednn/onednn.h"

namespace hub::onednn {
namespace {

using dnnl::memory;

/// Numbers in memory, the padding of blocked layouts included.
int64_t stored(const LayoutPtr& layout, const Spec& spec) {
  return static_cast<int64_t>(layout_bytes(layout, spec) / sizeof(float));
}

/// Operands of any shapes that broadcast, in plain layout.
Prepared prepare_broadcast(Binary op, std::span<const Operand> in, const Shape& y) {
  Prepared p;
  p.in.assign(2, nullptr);
  p.out = {nullptr};
  p.how = "rows";
  p.in_place = {in[0].spec.shape == y ? 0 : in[1].spec.shape == y ? 1 : -1};
  const auto strides = [&](size_t i) { return broadcast_strides(in[i].spec.shape, y); };
  p.bind = [op, walk = merged(Walk<2>{y, {strides(0), strides(1)}})](const Places& at) -> Step {
    const auto* a = static_cast<const float*>(at.in[0]);
    const auto* b = static_cast<const float*>(at.in[1]);
    auto* to = static_cast<float*>(at.out[0]);
    return [=] { binary_rows(op, walk, a, b, to); };
  };
  return p;
}

}  // namespace

std::optional<Prepared> prepare_unary(const OpCall& call, std::span<const Operand> in,
                                      std::span<const Spec> out) {
  if (!all_float(in, out)) return {};
  Prepared p;
  p.in.assign(in.size(), nullptr);
  p.in[0] = in[0].layout;
  p.out = {in[0].layout};
  p.in_place = {0};
  const auto step = step_of(call, [&](size_t i) -> std::optional<double> {
    if (in[i].constant == nullptr || in[i].constant->numel() != 1) return {};
    return in[i].constant->to_floats()[0];
  });
  // tanh is better in oneDNN's hands.
  if (step && has_elementwise(*step)) {
    const int64_t count = stored(in[0].layout, in[0].spec);
    p.how = "loop";
    p.bind = [step = *step, count](const Places& at) -> Step {
      const auto* x = static_cast<const float*>(at.in[0]);
      auto* y = static_cast<float*>(at.out[0]);
      return [=] { elementwise(step, x, y, count); };
    };
    return p;
  }
  using dnnl::algorithm;
  const std::string_view op = call.op->name;
  if (op == "gelu" && call.attrs.s("approximate", "none") == "none") {
    const int64_t count = stored(in[0].layout, in[0].spec);
    p.how = "loop";
    p.bind = [count](const Places& at) -> Step {
      const auto* x = static_cast<const float*>(at.in[0]);
      auto* y = static_cast<float*>(at.out[0]);
      return [=] { gelu(x, y, count); };
    };
    return p;
  }
  algorithm kind = algorithm::undef;
  if (op == "tanh") kind = algorithm::eltwise_tanh;
  if (op == "exp") kind = algorithm::eltwise_exp;
  if (op == "gelu") kind = algorithm::eltwise_gelu_tanh;
  if (kind == algorithm::undef) return {};
  const memory::desc desc = desc_of(in[0].spec, in[0].layout);
  const dnnl::eltwise_forward::primitive_desc pd(
      dnnl::eltwise_forward::desc(dnnl::prop_kind::forward_inference, kind, desc), engine());
  p.how = pd.impl_info_str();
  p.bind = [desc, primitive = dnnl::eltwise_forward(pd)](const Places& at) {
    return primitive_step(primitive,
                          {{DNNL_ARG_SRC, desc, at.in[0]}, {DNNL_ARG_DST, desc, at.out[0]}});
  };
  return p;
}

std::optional<Prepared> prepare_binary(const OpCall& call, std::span<const Operand> in,
                                       std::span<const Spec> out) {
  if (!all_float(in, out) || in.size() != 2) return {};
  const std::string_view name = call.op->name;
  const Binary op = name == "add"   ? Binary::add
                    : name == "sub" ? Binary::sub
                    : name == "mul" ? Binary::mul
                    : name == "div" ? Binary::div
                    : name == "max" ? Binary::max
                                    : Binary::min;
  const Shape& y = out[0].shape;
  Prepared p;
  p.how = "loop";
  // The operand of the result's shape is the first one of the loop.
  const bool swapped = in[0].spec.shape != y;
  const size_t big = swapped ? 1 : 0;
  const size_t small = 1 - big;
  if (in[big].spec.shape != y) return prepare_broadcast(op, in, y);
  const Shape& s = in[small].spec.shape;
  auto places = [big, small](const Places& at) {
    return std::pair(static_cast<const float*>(at.in[big]),
                     static_cast<const float*>(at.in[small]));
  };
  if (s == y) {
    // Where one is in blocks already, the other comes along.
    const LayoutPtr layout = in[big].layout ? in[big].layout : in[small].layout;
    const int64_t count = stored(layout, out[0]);
    p.in = {layout, layout};
    p.out = {layout};
    p.in_place = {in[0].constant == nullptr ? 0 : 1};
    p.bind = [=](const Places& at) -> Step {
      auto [a, b] = places(at);
      auto* to = static_cast<float*>(at.out[0]);
      return [=] { binary_same(op, a, b, to, count); };
    };
    return p;
  }
  p.in.assign(2, nullptr);
  p.in_place = {static_cast<int>(big)};
  if (s.numel() == 1) {
    p.in[big] = in[big].layout;
    p.out = {in[big].layout};
    const int64_t count = stored(in[big].layout, out[0]);
    p.bind = [=](const Places& at) -> Step {
      auto [a, b] = places(at);
      auto* to = static_cast<float*>(at.out[0]);
      return [=] { binary_scalar(op, a, *b, swapped, to, count); };
    };
    return p;
  }
  // One number a channel of each picture: [N or 1, C, 1, …].
  if (y.rank() < 3 || y.rank() > 5 || s.rank() != y.rank() || s[0] != y[0] || s[1] != y[1] ||
      s.numel(2, s.rank()) != 1)
    return prepare_broadcast(op, in, y);
  const bool blocked = is_image_layout(y, in[big].layout);
  if (in[big].layout && !blocked) return prepare_broadcast(op, in, y);
  const int64_t block = blocked ? channel_block() : 1;
  const int64_t groups = y[0] * ((y[1] + block - 1) / block);
  const int64_t pixels = y.numel(2, y.rank());
  // Padding channels would divide by zero, and a NaN there spreads.
  if (op == Binary::div && y[1] % block != 0) return prepare_broadcast(op, in, y);
  p.in[big] = in[big].layout;
  p.in[small] = blocked ? image_layout(s) : nullptr;
  p.out = {in[big].layout};
  p.bind = [=](const Places& at) -> Step {
    auto [a, b] = places(at);
    auto* to = static_cast<float*>(at.out[0]);
    return [=] { binary_channel(op, a, b, swapped, to, groups, pixels, block); };
  };
  return p;
}

std::optional<Prepared> prepare_batch_norm(const OpCall& call, std::span<const Operand> in,
                                           std::span<const Spec> out) {
  if (call.out.size() != 1 || !all_float(in, out)) return {};
  const Shape& x = in[0].spec.shape;
  for (size_t i = 1; i < 5; ++i) {
    if (in[i].constant == nullptr) return {};
  }
  const bool blocked = is_image_layout(x, in[0].layout);
  if (x.rank() < 2 || (in[0].layout && !blocked)) return {};
  const int64_t block = blocked ? channel_block() : 1;
  const int64_t blocks = (x[1] + block - 1) / block;
  const int64_t pixels = x.numel(2, x.rank());
  std::vector<float> scale(static_cast<size_t>(blocks * block), 0.0F);
  std::vector<float> shift(scale.size(), 0.0F);
  const auto gamma = in[1].constant->to_floats();
  const auto beta = in[2].constant->to_floats();
  const auto mean = in[3].constant->to_floats();
  const auto variance = in[4].constant->to_floats();
  const double epsilon = call.attrs.f("epsilon", 1e-5);
  for (size_t c = 0; c < gamma.size(); ++c) {
    const double s = gamma[c] / std::sqrt(variance[c] + epsilon);
    scale[c] = static_cast<float>(s);
    shift[c] = static_cast<float>(beta[c] - mean[c] * s);
  }
  Prepared p;
  p.in.assign(in.size(), nullptr);
  p.in[0] = in[0].layout;
  p.out = {in[0].layout};
  p.in_place = {0};
  p.how = "loop";
  p.bind = [=, images = x[0]](const Places& at) -> Step {
    const auto* from = static_cast<const float*>(at.in[0]);
    auto* to = static_cast<float*>(at.out[0]);
    return [=] {
      affine_channel(from, scale.data(), shift.data(), to, images, blocks, pixels, block);
    };
  };
  return p;
}

}  // namespace hub::onednn
