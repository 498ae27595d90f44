// The neural-network part of runtime/ops.h.
#include "runtime/ops.h"

namespace hub {

Var conv(Var x, Var w, Var b, const Conv& how) {
  Attrs attrs{{"group", how.group}};
  auto list = [&](const char* name, const std::vector<int64_t>& v) {
    if (!v.empty()) attrs.set(name, v);
  };
  list("strides", how.strides);
  list("pads", how.pads);
  list("dilations", how.dilations);
  if (!how.auto_pad.empty()) attrs.set("auto_pad", how.auto_pad);
  return apply("conv", {x, w, b}, std::move(attrs));
}

Var pool(Var x, const Pool& how) {
  Attrs attrs{{"kind", how.kind}, {"kernel", how.kernel}};
  if (!how.strides.empty()) attrs.set("strides", how.strides);
  if (!how.pads.empty()) attrs.set("pads", how.pads);
  return apply("pool", {x}, std::move(attrs));
}

Var global_average(Var x) { return apply("pool", {x}, {{"kind", "avg"}, {"global", int64_t{1}}}); }

Var batch_norm(Var x, Var scale, Var bias, Var mean, Var variance, double epsilon) {
  return apply("batch_norm", {x, scale, bias, mean, variance}, {{"epsilon", epsilon}});
}

Var layer_norm(Var x, Var scale, Var bias, double epsilon) {
  return apply("layer_norm", {x, scale, bias}, {{"axis", int64_t{-1}}, {"epsilon", epsilon}});
}

Var matmul(Var a, Var b, Var bias, bool trans_a, bool trans_b, double alpha) {
  return apply("matmul", {a, b, bias},
               {{"trans_a", int64_t{trans_a}}, {"trans_b", int64_t{trans_b}}, {"alpha", alpha}});
}

Var attention(Var q, Var k, Var v, Var mask, int64_t heads) {
  return apply("attention", {q, k, v, mask}, {{"heads", heads}});
}

Var softmax(Var x, int64_t axis) { return apply("softmax", {x}, {{"axis", axis}}); }

}  // namespace hub
