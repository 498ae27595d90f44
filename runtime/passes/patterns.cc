// Operators that exporters spell out, found again. Each rule starts at the last call of the
// spelling and walks back.
#include <cmath>

#include "runtime/op.h"
#include "runtime/passes/passes.h"

namespace hub {
namespace {

class Matcher {
 public:
  Matcher(Program& program, const std::vector<Spec>& specs)
      : p_(program), specs_(specs), uses_(program) {}

  const OpCall* writer(ValueId id, std::string_view op) const {
    return writer_of(p_, uses_, id, op);
  }
  /// A binary call's operand that is not the scalar `value`, or absent.
  ValueId beside(const OpCall* call, double value) const {
    if (call == nullptr || call->in.size() != 2) return absent;
    for (size_t i = 0; i < 2; ++i) {
      const auto s = scalar_of(p_, call->in[i]);
      if (s && std::fabs(*s - value) <= 1e-6 * std::fabs(value)) return call->in[1 - i];
    }
    return absent;
  }
  /// x of y = x / c or x * (1 / c).
  ValueId divided(const OpCall& call, double c) const {
    if (is(call, "mul")) return beside(&call, 1 / c);
    const auto s = call.in.size() == 2 ? scalar_of(p_, call.in[1]) : std::nullopt;
    return is(call, "div") && s && std::fabs(*s - c) < 1e-6 * c ? call.in[0] : absent;
  }
  /// x of clip(x + 3, 0, 6), or absent.
  ValueId relu6_shifted(ValueId id) const {
    const OpCall* clip = writer(id, "clip");
    if (clip == nullptr || clip->in.size() < 3) return absent;
    const auto low = scalar_of(p_, clip->in[1]);
    const auto high = scalar_of(p_, clip->in[2]);
    if (!low || !high || *low != 0 || *high != 6) return absent;
    return beside(writer(clip->in[0], "add"), 3);
  }
  /// Whether the scalar constants a pattern leaves behind keep y's shape that of x.
  bool same_shape(ValueId a, ValueId b) const {
    return specs_[static_cast<size_t>(a)] == specs_[static_cast<size_t>(b)];
  }
  const Spec& spec(ValueId id) const { return specs_[static_cast<size_t>(id)]; }
  const Program& program() const { return p_; }

 private:
  Program& p_;
  const std::vector<Spec>& specs_;
  Uses uses_;
};

bool hard_swish(const Matcher& m, OpCall& call) {
  ValueId x = absent;
  // x * clip(x + 3, 0, 6) / 6
  if (const ValueId product = m.divided(call, 6); product != absent) {
    if (const OpCall* mul = m.writer(product, "mul"); mul != nullptr && mul->in.size() == 2) {
      for (size_t i = 0; i < 2; ++i) {
        if (m.relu6_shifted(mul->in[i]) == mul->in[1 - i]) x = mul->in[1 - i];
      }
    }
  }
  // x * (clip(x + 3, 0, 6) / 6), x * hard_sigmoid(x)
  if (x == absent && is(call, "mul")) {
    for (size_t i = 0; i < 2; ++i) {
      const ValueId gate = call.in[i];
      const ValueId other = call.in[1 - i];
      for (std::string_view op : {"div", "mul"}) {
        const OpCall* scaled = m.writer(gate, op);
        if (scaled == nullptr) continue;
        const ValueId clipped = m.divided(*scaled, 6);
        if (clipped != absent && m.relu6_shifted(clipped) == other) x = other;
      }
      const OpCall* sigmoid = m.writer(gate, "hard_sigmoid");
      if (sigmoid != nullptr && sigmoid->in[0] == other &&
          std::fabs(sigmoid->attrs.f("alpha", 0.2) - 1.0 / 6) < 1e-6 &&
          sigmoid->attrs.f("beta", 0.5) == 0.5) {
        x = other;
      }
    }
  }
  if (x == absent || !m.same_shape(x, call.out[0])) return false;
  call.op = find_op("hard_swish");
  call.in = {x};
  call.attrs = {};
  return true;
}

bool swish(const Matcher& m, OpCall& call) {
  if (!is(call, "mul")) return false;
  for (size_t i = 0; i < 2; ++i) {
    const OpCall* sigmoid = m.writer(call.in[i], "sigmoid");
    if (sigmoid == nullptr || sigmoid->in[0] != call.in[1 - i]) continue;
    call.op = find_op("swish");
    call.in = {sigmoid->in[0]};
    call.attrs = {{"beta", 1.0}};
    return true;
  }
  return false;
}

/// 0.5 * x * (1 + erf(x / sqrt 2)), in the orders that exporters write.
bool gelu(const Matcher& m, OpCall& call) {
  if (!is(call, "mul")) return false;
  auto erf_of = [&](ValueId id) {  // x when id is 1 + erf(x / sqrt 2)
    const OpCall* erf = m.writer(m.beside(m.writer(id, "add"), 1), "erf");
    if (erf == nullptr) return absent;
    for (std::string_view op : {"div", "mul"}) {
      const OpCall* scaled = m.writer(erf->in[0], op);
      if (scaled == nullptr) continue;
      if (const ValueId x = m.divided(*scaled, std::sqrt(2.0)); x != absent) return x;
    }
    return absent;
  };
  ValueId found = absent;
  if (const ValueId product = m.beside(&call, 0.5); product != absent) {  // (x * (1 + erf)) * 0.5
    const OpCall* mul = m.writer(product, "mul");
    for (size_t i = 0; mul != nullptr && i < 2; ++i) {
      if (erf_of(mul->in[i]) == mul->in[1 - i]) found = mul->in[1 - i];
    }
  }
  for (size_t i = 0; found == absent && i < 2;
       ++i) {  // (x * 0.5) * (1 + erf), x * (0.5 * (1 + erf))
    const ValueId half = m.beside(m.writer(call.in[i], "mul"), 0.5);
    if (half == absent) continue;
    const ValueId other = call.in[1 - i];
    if (erf_of(other) == half) found = half;
    if (erf_of(half) == other) found = other;
  }
  if (found == absent || !m.same_shape(found, call.out[0])) return false;
  call.op = find_op("gelu");
  call.in = {found};
  call.attrs = {};
  return true;
}

/// (x - mean) / sqrt(variance + epsilon) * scale + bias over the last dimension.
bool layer_norm(const Matcher& m, OpCall& call) {
  if (!is(call, "add")) return false;
  const Program& p = m.program();
  auto vector_beside = [&](const OpCall& c, int64_t width, ValueId& vector) {
    for (size_t i = 0; i < 2; ++i) {
      const Tensor& t = p[c.in[i]].constant;
      if (t && t.dtype() == DType::f32 && t.shape() == Shape{width}) {
        vector = c.in[i];
        return c.in[1 - i];
      }
    }
    return absent;
  };
  if (m.spec(call.out[0]).shape.rank() == 0) return false;
  const int64_t width = m.spec(call.out[0]).shape.back();
  ValueId bias = absent;
  ValueId scale = absent;
  const OpCall* mul = m.writer(vector_beside(call, width, bias), "mul");
  if (mul == nullptr) return false;
  const OpCall* div = m.writer(vector_beside(*mul, width, scale), "div");
  if (div == nullptr) return false;
  const ValueId centred = div->in[0];
  const OpCall* sub = m.writer(centred, "sub");
  const OpCall* root = m.writer(div->in[1], "sqrt");
  if (sub == nullptr || root == nullptr) return false;
  const OpCall* shifted = m.writer(root->in[0], "add");
  if (shifted == nullptr) return false;
  std::optional<double> epsilon;
  ValueId variance = absent;
  for (size_t i = 0; i < 2; ++i) {
    if (const auto s = scalar_of(p, shifted->in[i])) {
      epsilon = s;
      variance = shifted->in[1 - i];
    }
  }
  const ValueId x = sub->in[0];
  auto last_mean_of = [&](ValueId mean, ValueId of) {
    const OpCall* reduce = m.writer(mean, "reduce_mean");
    if (reduce == nullptr || reduce->in[0] != of || reduce->in.size() < 2) return false;
    if (reduce->attrs.i("keepdims", 1) == 0) return false;
    const Tensor& axes = p[reduce->in[1]].constant;
    const auto rank = static_cast<int64_t>(m.spec(of).shape.rank());
    if (!axes || axes.numel() != 1) return false;
    const int64_t axis = axes.to_ints()[0];
    return axis == -1 || axis == rank - 1;
  };
  if (!epsilon || !last_mean_of(sub->in[1], x)) return false;
  const OpCall* reduce = m.writer(variance, "reduce_mean");
  if (reduce == nullptr || !last_mean_of(variance, reduce->in[0])) return false;
  const OpCall* power = m.writer(reduce->in[0], "pow");
  const OpCall* square = m.writer(reduce->in[0], "mul");
  const bool squared =
      (power != nullptr && power->in[0] == centred && scalar_of(p, power->in[1]) == 2.0) ||
      (square != nullptr && square->in[0] == centred && square->in[1] == centred);
  if (!squared || !m.same_shape(x, call.out[0])) return false;
  call.op = find_op("layer_norm");
  call.in = {x, scale, bias};
  call.attrs = {{"epsilon", *epsilon}, {"axis", int64_t{-1}}};
  return true;
}

}  // namespace

void recover_patterns(Program& program, const std::vector<Spec>& specs) {
  const Matcher matcher(program, specs);
  for (OpCall& call : program.ops) {
    if (call.out.size() != 1 || call.out[0] == absent || call.in.size() != 2) continue;
    if (specs[static_cast<size_t>(call.out[0])].dtype != DType::f32) continue;
    if (hard_swish(matcher, call) || swish(matcher, call) || gelu(matcher, call)) continue;
    layer_norm(matcher, call);
  }
  remove_dead(program);
}

}  // namespace hub
