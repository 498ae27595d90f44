// Their formulas (a penalty inside the gradient, epsilon outside of the root, corrections that
// depend on a step number that is computed) are not those of the operators adagrad, adam and
// momentum, so they are written out.
#include "runtime/ops/optimizer_import.h"

#include "runtime/ops/grad.h"
#include "runtime/ops/rules.h"

namespace hub {
namespace {

/// Inputs rate, step, then all tensors, all gradients, and all of each slot; outputs all new
/// tensors and all new slots.
struct Update {
  ImportNode& n;
  size_t count;
  Var rate, step;

  Update(ImportNode& n, size_t slots)
      : n(n),
        count((n.inputs() < 2 ? 0 : n.inputs() - 2) / (slots + 2)),
        rate(n.need(0)),
        step(n.need(1)) {
    if (count == 0 || n.inputs() != 2 + count * (slots + 2))
      n.refuse("it has ", n.inputs(), " inputs");
  }
  Var in(size_t kind, size_t k) const { return n.need(2 + kind * count + k); }
  void out(size_t kind, size_t k, Var v) const { n.out(kind * count + k, v); }
  /// An attribute as a number like v.
  Var number(std::string_view name, double fallback, Var v) const {
    return apply("cast",
                 {constant(n.program, scalar_of(DType::f64, n.attrs.f(name, fallback))), v});
  }
  Var one(Var v) const { return apply("cast", {constant(n.program, scalar_of(DType::f64, 1)), v}); }
  /// Of tensor k, with the gradient of its penalty.
  Var gradient(size_t k) const {
    const Var x = in(0, k);
    return add(mul(number("norm_coefficient", 0, x), x), in(1, k));
  }
  /// a when the first step is over, else b.
  Var later(Var a, Var b) const {
    const Var zero = constant(n.program, scalar_of(DType::i64, 0));
    return apply("where", {apply("greater", {cast_to(step, DType::i64), zero}), a, b});
  }
};

}  // namespace

void onnx_adagrad(ImportNode& n) {
  const Update u(n, 1);
  for (size_t k = 0; k < u.count; ++k) {
    const Var x = u.in(0, k), g = u.gradient(k);
    const Var decay = mul(apply("cast", {u.step, x}), u.number("decay_factor", 0, x));
    const Var rate = div(apply("cast", {u.rate, x}), add(u.one(x), decay));
    const Var h = add(u.in(2, k), mul(g, g));
    const Var scale = add(unary("sqrt", h), u.number("epsilon", 1e-6, x));
    u.out(0, k, sub(x, div(mul(rate, g), scale)));
    u.out(1, k, h);
  }
}

void onnx_adam(ImportNode& n) {
  const Update u(n, 2);
  for (size_t k = 0; k < u.count; ++k) {
    const Var x = u.in(0, k), g = u.gradient(k), one = u.one(x);
    const Var alpha = u.number("alpha", 0.9, x), beta = u.number("beta", 0.999, x);
    const Var v = add(mul(alpha, u.in(2, k)), mul(sub(one, alpha), g));
    const Var h = add(mul(beta, u.in(3, k)), mul(sub(one, beta), mul(g, g)));
    const Var plain = apply("cast", {u.rate, x});
    const Var t = apply("cast", {u.step, x});
    const Var corrected = div(mul(plain, unary("sqrt", sub(one, apply("pow", {beta, t})))),
                              sub(one, apply("pow", {alpha, t})));
    const Var scale = add(unary("sqrt", h), u.number("epsilon", 1e-6, x));
    const Var next = sub(x, mul(u.later(corrected, plain), div(v, scale)));
    u.out(0, k, mul(sub(one, u.number("norm_coefficient_post", 0, x)), next));
    u.out(1, k, v);
    u.out(2, k, h);
  }
}

void onnx_momentum(ImportNode& n) {
  const Update u(n, 1);
  const std::string& mode = n.attrs.s("mode");
  if (mode != "standard" && mode != "nesterov") n.refuse("mode is '", mode, "'");
  for (size_t k = 0; k < u.count; ++k) {
    const Var x = u.in(0, k), g = u.gradient(k);
    const Var alpha = u.number("alpha", 0, x);
    const Var share = u.later(u.number("beta", 0, x), u.one(x));
    const Var v = add(mul(alpha, u.in(2, k)), mul(share, g));
    const Var by = mode == "standard" ? v : add(g, mul(alpha, v));
    u.out(0, k, sub(x, mul(apply("cast", {u.rate, x}), by)));
    u.out(1, k, v);
  }
}

}  // namespace hub
