// The elementwise and shape part of runtime/ops.h.
#include "runtime/ops.h"

namespace hub {

Var add(Var a, Var b) { return apply("add", {a, b}); }
Var mul(Var a, Var b) { return apply("mul", {a, b}); }
Var unary(std::string_view op, Var x) { return apply(op, {x}); }

Var clip(Var x, double min, double max) {
  auto bound = [&](double v) {
    return constant(*x.program, Tensor::scalar(static_cast<float>(v)));
  };
  return apply("clip", {x, bound(min), bound(max)});
}

Var reshape(Var x, std::vector<int64_t> shape) {
  return apply("reshape", {x, constant(*x.program, Tensor::ints(shape))});
}
Var transpose(Var x, std::vector<int64_t> perm) {
  return apply("transpose", {x}, {{"perm", std::move(perm)}});
}
Var embedding(Var table, Var ids) { return apply("gather", {table, ids}, {{"axis", int64_t{0}}}); }

}  // namespace hub
