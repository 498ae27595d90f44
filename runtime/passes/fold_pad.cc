// Zeros put around a picture in front of a convolution become the convolution's own padding.
#include "runtime/op.h"
#include "runtime/passes/passes.h"

namespace hub {
namespace {

/// [begins, ends] over the spatial dimensions when the call only adds zeros there, else nothing.
std::optional<std::vector<int64_t>> zeros_around(const Program& p, const OpCall& call,
                                                 size_t spatial) {
  if (!is(call, "pad") || call.attrs.s("mode", "constant") != "constant") return {};
  const auto given = [&](size_t i) { return i < call.in.size() && call.in[i] != absent; };
  if (given(2) && scalar_of(p, call.in[2]).value_or(1) != 0) return {};
  const Tensor& pads = p[call.in[1]].constant;
  if (!pads || (given(3) && !p[call.in[3]].constant)) return {};
  const size_t rank = spatial + 2;
  const std::vector<int64_t> counts = pads.to_ints();
  std::vector<int64_t> axes;
  if (given(3)) axes = p[call.in[3]].constant.to_ints();
  for (size_t d = 0; !given(3) && d < rank; ++d) axes.push_back(static_cast<int64_t>(d));
  if (counts.size() != 2 * axes.size()) return {};
  std::vector<int64_t> around(2 * spatial);
  for (size_t i = 0; i < axes.size(); ++i) {
    const int64_t axis = axes[i] < 0 ? axes[i] + static_cast<int64_t>(rank) : axes[i];
    const int64_t begin = counts[i], end = counts[axes.size() + i];
    if (begin == 0 && end == 0) continue;
    if (axis < 2 || axis >= static_cast<int64_t>(rank) || begin < 0 || end < 0) return {};
    around[static_cast<size_t>(axis) - 2] += begin;
    around[spatial + static_cast<size_t>(axis) - 2] += end;
  }
  return around;
}

}  // namespace

void fold_pad(Program& program) {
  const Uses uses(program);
  for (OpCall& call : program.ops) {
    if (!is(call, "conv") || call.in.size() < 2) continue;
    const Tensor& weights = program[call.in[1]].constant;
    const int writer = uses.writer[static_cast<size_t>(call.in[0])];
    if (!weights || weights.shape().rank() < 3 || writer < 0) continue;
    const std::string mode = call.attrs.s("auto_pad", "");
    if (!mode.empty() && mode != "valid") continue;
    const size_t spatial = weights.shape().rank() - 2;
    const OpCall& pad = program.ops[static_cast<size_t>(writer)];
    const auto around = zeros_around(program, pad, spatial);
    if (!around) continue;
    std::vector<int64_t> pads = mode == "valid" ? std::vector<int64_t>{} : call.attrs.ints("pads");
    pads.resize(2 * spatial);
    for (size_t i = 0; i < pads.size(); ++i) pads[i] += (*around)[i];
    call.attrs.erase("auto_pad");
    call.attrs.set("pads", std::move(pads));
    call.in[0] = pad.in[0];
  }
}

}  // namespace hub
