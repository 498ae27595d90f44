// softmax and layer_norm over the last dimension, their gradients, sums over leading dimensions.
#include "runtime/device/onednn/kernels.h"
#include "runtime/device/onednn/kernels_softmax.h"
#include "runtime/device/onednn/kernels_train.h"
#include "runtime/device/onednn/onednn.h"

namespace hub::onednn {

std::optional<Prepared> prepare_softmax(const OpCall& call, std::span<const Operand> in,
                                        std::span<const Spec> out) {
  if (!all_float(in, out)) return {};
  const Shape& x = in[0].spec.shape;
  const auto rank = static_cast<int64_t>(x.rank());
  const int64_t axis = call.attrs.i("axis", -1);
  if (rank == 0 || (axis != -1 && axis != rank - 1)) return {};
  Prepared p;
  p.in = {nullptr};
  p.out = {nullptr};
  p.in_place = {0};
  p.how = "loop";
  p.bind = [width = x.back(), rows = x.numel() / x.back()](const Places& at) -> Step {
    const auto* from = static_cast<const float*>(at.in[0]);
    auto* to = static_cast<float*>(at.out[0]);
    return [=] { softmax_rows(from, to, rows, width); };
  };
  return p;
}

std::optional<Prepared> prepare_layer_norm(const OpCall& call, std::span<const Operand> in,
                                           std::span<const Spec> out) {
  if (call.out.size() != 1 || !all_float(in, out)) return {};
  const Shape& x = in[0].spec.shape;
  const auto rank = static_cast<int64_t>(x.rank());
  int64_t axis = call.attrs.i("axis", -1);
  if (axis < 0) axis += rank;
  const int64_t width = x.numel(static_cast<size_t>(axis), x.rank());
  for (size_t i = 1; i < in.size(); ++i) {
    if (in[i].present && in[i].spec.shape.numel() != width) return {};
  }
  Prepared p;
  p.in.assign(in.size(), nullptr);
  p.out = {nullptr};
  p.in_place = {0};
  p.how = "loop";
  const bool scale = in.size() > 1 && in[1].present;
  const bool bias = in.size() > 2 && in[2].present;
  const auto epsilon = static_cast<float>(call.attrs.f("epsilon", 1e-5));
  p.bind = [=, rows = x.numel() / width](const Places& at) -> Step {
    const auto* from = static_cast<const float*>(at.in[0]);
    const auto* s = scale ? static_cast<const float*>(at.in[1]) : nullptr;
    const auto* b = bias ? static_cast<const float*>(at.in[2]) : nullptr;
    auto* to = static_cast<float*>(at.out[0]);
    return [=] { layer_norm_rows(from, s, b, to, rows, width, epsilon); };
  };
  return p;
}

std::optional<Prepared> prepare_softmax_grad(const OpCall& call, std::span<const Operand> in,
                                             std::span<const Spec> out) {
  auto p = prepare_softmax(call, in, out);
  if (!p) return {};
  const Shape& x = in[0].spec.shape;
  p->in.assign(2, nullptr);
  p->in_place = {1};
  p->bind = [width = x.back(), rows = x.numel() / x.back()](const Places& at) -> Step {
    const auto* y = static_cast<const float*>(at.in[0]);
    const auto* dy = static_cast<const float*>(at.in[1]);
    auto* dx = static_cast<float*>(at.out[0]);
    return [=] { softmax_grad_rows(y, dy, dx, rows, width); };
  };
  return p;
}

std::optional<Prepared> prepare_layer_norm_grad(const OpCall& call, std::span<const Operand> in,
                                                std::span<const Spec> out) {
  if (call.out[0] == absent || !all_float(in, out.subspan(0, 1))) return {};
  const Shape& x = in[0].spec.shape;
  const auto rank = static_cast<int64_t>(x.rank());
  int64_t axis = call.attrs.i("axis", -1);
  if (axis < 0) axis += rank;
  const int64_t width = x.numel(static_cast<size_t>(axis), x.rank());
  for (size_t i = 2; i < in.size(); ++i) {
    if (in[i].present && in[i].spec.shape.numel() != width) return {};
  }
  const bool scale = in.size() > 2 && in[2].present;
  // Without scale and bias their gradients are single numbers that nobody wants.
  for (size_t i = 1; i < call.out.size(); ++i) {
    if (call.out[i] != absent && (!scale || out[i].shape.numel() != width)) return {};
  }
  const int64_t rows = x.numel() / width;
  const auto epsilon = static_cast<float>(call.attrs.f("epsilon", 1e-5));
  Prepared p;
  p.in.assign(in.size(), nullptr);
  p.out.assign(call.out.size(), nullptr);
  p.in_place = {1};
  p.scratch = static_cast<size_t>(layer_norm_scratch(rows, width)) * sizeof(float);
  p.how = "loop";
  p.bind = [=](const Places& at) -> Step {
    const auto* from = static_cast<const float*>(at.in[0]);
    const auto* dy = static_cast<const float*>(at.in[1]);
    const auto* s = scale ? static_cast<const float*>(at.in[2]) : nullptr;
    auto* dx = static_cast<float*>(at.out[0]);
    auto* dscale = at.out.size() > 1 ? static_cast<float*>(at.out[1]) : nullptr;
    auto* dbias = at.out.size() > 2 ? static_cast<float*>(at.out[2]) : nullptr;
    auto* scratch = static_cast<float*>(at.scratch);
    return [=] {
      layer_norm_grad_rows(from, dy, s, dx, dscale, dbias, scratch, rows, width, epsilon);
    };
  };
  return p;
}

std::optional<Prepared> prepare_sum_to(const OpCall&, std::span<const Operand> in,
                                       std::span<const Spec> out) {
  if (!all_float(in.subspan(0, 1), out)) return {};
  // The result is the end of x's shape, perhaps with ones in front.
  const Shape& x = in[0].spec.shape;
  const Shape& y = out[0].shape;
  size_t kept = 0;
  while (kept < y.rank() && y[y.rank() - 1 - kept] == x[x.rank() - 1 - kept]) ++kept;
  if (kept == 0 || y.numel(0, y.rank() - kept) != 1) return {};
  Prepared p;
  p.in = {nullptr, nullptr};
  p.out = {nullptr};
  p.how = "loop";
  p.bind = [width = y.numel(), rows = x.numel() / y.numel()](const Places& at) -> Step {
    const auto* from = static_cast<const float*>(at.in[0]);
    auto* to = static_cast<float*>(at.out[0]);
    return [=] { column_sums(from, to, rows, width); };
  };
  return p;
}

}  // namespace hub::onednn
