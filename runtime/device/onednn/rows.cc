// softmax and layer_norm over the last dimension.
#include "runtime/device/onednn/kernels.h"
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
  p.in_place = 0;
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
  p.in_place = 0;
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

}  // namespace hub::onednn
