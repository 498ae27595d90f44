// For writing gradient rules: the few calls that most of them make.
#pragma once

#include "runtime/grad.h"
#include "runtime/ops.h"

namespace hub {

/// g summed to the shape of `like`, which was broadcast on the way forward.
inline Var sum_to(Var g, Var like) { return apply("sum_to", {g, like}); }
inline Var reshape_as(Var g, Var like) { return apply("reshape_as", {g, like}); }
inline Var expand_as(Var g, Var like) { return apply("expand_as", {g, like}); }
inline Var sub(Var a, Var b) { return apply("sub", {a, b}); }
inline Var div(Var a, Var b) { return apply("div", {a, b}); }
inline Var neg(Var x) { return apply("neg", {x}); }
/// The length of dimension `axis` of x, as a list of one.
inline Var length(Var x, int64_t axis) {
  Attrs attrs{{"start", axis}};
  if (axis != -1) attrs.set("end", axis + 1);
  return apply("shape", {x}, attrs);
}
/// A list of integers as a constant.
inline Var ints_of(Var like, std::vector<int64_t> values) {
  return constant(*like.program, Tensor::ints(values));
}

}  // namespace hub
