// reduce_sum and reduce_mean over neighbouring dimensions.
#include "runtime/device/onednn/kernels.h"
#include "runtime/device/onednn/onednn.h"
#include "runtime/op.h"

namespace hub::onednn {

std::optional<Prepared> prepare_reduce(const OpCall& call, std::span<const Operand> in,
                                       std::span<const Spec> out) {
  if (!all_float(in.subspan(0, 1), out)) return {};
  const Shape& x = in[0].spec.shape;
  std::vector<int64_t> axes;
  if (in.size() > 1 && in[1].present) {
    if (in[1].constant == nullptr) return {};
    axes = in[1].constant->to_ints();
  }
  if (axes.empty()) {
    if (call.attrs.i("noop_with_empty_axes", 0) != 0) return {};
    for (size_t d = 0; d < x.rank(); ++d) axes.push_back(static_cast<int64_t>(d));
  }
  std::vector<bool> reduced(x.rank());
  for (const int64_t a : axes)
    reduced[static_cast<size_t>(a < 0 ? a + static_cast<int64_t>(x.rank()) : a)] = true;
  // [outer, count, inner]; dimensions of 1 belong anywhere.
  int64_t outer = 1, count = 1, inner = 1;
  for (size_t d = 0; d < x.rank(); ++d) {
    if (x[d] == 1) continue;
    if (reduced[d]) {
      if (inner != 1) return {};
      count *= x[d];
    } else {
      (count == 1 ? outer : inner) *= x[d];
    }
  }
  if (x.numel() == 0) return {};
  Prepared p;
  p.in.assign(in.size(), nullptr);
  p.out = {nullptr};
  p.how = "loop";
  const double scale = call.op->name == "reduce_mean" ? 1.0 / static_cast<double>(count) : 1;
  p.bind = [=](const Places& at) -> Step {
    const auto* from = static_cast<const float*>(at.in[0]);
    auto* to = static_cast<float*>(at.out[0]);
    return [=] { middle_sums(from, to, outer, count, inner, scale); };
  };
  return p;
}

}  // namespace hub::onednn
