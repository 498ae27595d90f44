// Programs of small integers: dequantize -> conv or matmul -> activation -> quantize becomes one
// call that computes with the integers, calls that only move or compare numbers work on the
// integers themselves, and pairs that cancel go. What does not fit stays as floats.
#include "runtime/ops/quantized.h"

#include <cmath>
#include <cstdlib>

#include "runtime/op.h"
#include "runtime/ops/post.h"
#include "runtime/passes/passes.h"

namespace hub {
namespace {

namespace q = quantized;

class Quantizer {
 public:
  explicit Quantizer(Program& program) : p_(program), uses_(program), gone_(program.ops.size()) {}

  /// The numbers of a constant; an empty tensor for what is computed or absent.
  const Tensor& known(ValueId id) const {
    static const Tensor none;
    return id == absent ? none : p_[id].constant;
  }
  /// The call that makes `id` of bytes that are computed, with one constant scale and zero point;
  /// else null.
  const OpCall* computed(ValueId id) const {
    const OpCall* d = writer(id, "dequantize");
    const bool bytes = d != nullptr && zero_of(*d) != absent && bytes_of(*d) != DType::none;
    return bytes && d->in[0] != absent && !known(d->in[0]) && one_step(*d) ? d : nullptr;
  }
  const OpCall* writer(ValueId id, std::string_view op) const {
    return writer_of(p_, uses_, id, op);
  }
  /// Whether the scale and the zero point of quantize or dequantize are one constant each, of
  /// numbers that divide.
  bool one_step(const OpCall& call) const {
    const auto scale = scalar_of(p_, call.in[1]);
    if (!scale || !std::isnormal(*scale) || *scale < 0) return false;
    return p_[call.in[1]].constant.dtype() == DType::f32 &&
           (zero_of(call) == absent || scalar_of(p_, zero_of(call)));
  }
  static ValueId zero_of(const OpCall& call) { return call.in.size() > 2 ? call.in[2] : absent; }
  /// What quantize gives, dequantize takes: int8, uint8, or none of these.
  DType bytes_of(const OpCall& call) const {
    if (zero_of(call) == absent) return call.attrs.has("to") ? DType::none : DType::u8;
    const DType dtype = p_[zero_of(call)].constant.dtype();
    return dtype == DType::i8 || dtype == DType::u8 ? dtype : DType::none;
  }
  bool same_step(const OpCall& a, const OpCall& b) const {
    const bool zeros = zero_of(a) != absent && zero_of(b) != absent;
    return zeros && bytes_of(a) != DType::none &&
           scalar_of(p_, a.in[1]) == scalar_of(p_, b.in[1]) &&
           scalar_of(p_, zero_of(a)) == scalar_of(p_, zero_of(b)) && bytes_of(a) == bytes_of(b);
  }

  void fuse_products();
  void fuse_sums();
  void cancel();
  void finish() {
    std::vector<OpCall> kept;
    for (size_t c = 0; c < p_.ops.size(); ++c)
      if (gone_[c] == 0) kept.push_back(std::move(p_.ops[c]));
    p_.ops = std::move(kept);
    remove_dead(p_);
  }

 private:
  struct Weights {
    ValueId values = absent, scale = absent;
    bool narrow = true;
  };
  std::optional<Weights> weights_of(ValueId id, bool conv, bool trans_b);
  std::optional<Tensor> bias_of(ValueId id, float x_scale, const Tensor& w_scale,
                                int64_t channels) const;
  bool take_bias(OpCall& product, int& at, ValueId& y, ValueId& b) const;
  bool take_step(int& at, ValueId& y, OpCall& call) const;

  Program& p_;
  Uses uses_;
  std::vector<char> gone_;
};

/// Weights as int8 around 0 with scales along the output channels; nothing when they are not.
std::optional<Quantizer::Weights> Quantizer::weights_of(ValueId id, bool conv, bool trans_b) {
  const OpCall* d = writer(id, "dequantize");
  if (d == nullptr || !known(d->in[0]) || !known(d->in[1])) return {};
  const Tensor w = p_[d->in[0]].constant;
  const Tensor& scale = p_[d->in[1]].constant;
  if (scale.dtype() != DType::f32 || w.shape().rank() < 2 || d->attrs.i("block_size", 0) != 0)
    return {};
  for (float s : scale.values<float>())
    if (!std::isnormal(s) || s < 0) return {};
  const auto rank = static_cast<int64_t>(w.shape().rank());
  int64_t axis = d->attrs.i("axis", 1);
  if (axis < 0) axis += rank;
  if (!conv && rank != 2) return {};
  if (scale.numel() > 1 && axis != (conv || trans_b ? 0 : 1)) return {};
  const bool shifted = w.dtype() == DType::u8;
  if (!shifted && w.dtype() != DType::i8) return {};
  const int middle = shifted ? 128 : 0;
  if (zero_of(*d) == absent) {
    if (shifted) return {};
  } else {
    if (!p_[zero_of(*d)].constant) return {};
    for (int64_t z : p_[zero_of(*d)].constant.to_ints())
      if (z != middle) return {};
  }
  Weights found{d->in[0], d->in[1], true};
  Tensor moved(DType::i8, w.shape());
  for (int64_t i = 0; i < w.numel(); ++i) {
    const int v = shifted ? w.data<uint8_t>()[i] - 128 : w.data<int8_t>()[i];
    moved.data<int8_t>()[i] = static_cast<int8_t>(v);
    found.narrow = found.narrow && std::abs(v) <= 64;
  }
  if (shifted) found.values = p_.add_constant(p_[d->in[0]].name, std::move(moved));
  return found;
}

/// A bias in steps of the sums: what was counted so already, or floats that can be.
std::optional<Tensor> Quantizer::bias_of(ValueId id, float x_scale, const Tensor& w_scale,
                                         int64_t channels) const {
  std::vector<double> numbers;
  if (const OpCall* d = writer(id, "dequantize"); d != nullptr) {
    const Tensor& v = known(d->in[0]);
    const Tensor& s = known(d->in[1]);
    if (!v || !s || v.dtype() != DType::i32 || v.numel() != channels) return {};
    if (s.numel() != 1 && s.numel() != channels) return {};
    if (zero_of(*d) != absent) {
      if (!p_[zero_of(*d)].constant) return {};
      for (int64_t z : p_[zero_of(*d)].constant.to_ints())
        if (z != 0) return {};
    }
    const auto scales = s.to_floats();
    for (int64_t i = 0; i < channels; ++i)
      numbers.push_back(
          v.data<int32_t>()[i] *
          static_cast<double>(scales[static_cast<size_t>(scales.size() > 1 ? i : 0)]));
  } else {
    const Tensor& v = known(id);
    if (!v || v.dtype() != DType::f32 || v.numel() != channels) return {};
    for (float f : v.values<float>()) numbers.push_back(f);
  }
  Tensor out(DType::i32, {channels});
  const auto scales = w_scale.values<float>();
  for (int64_t i = 0; i < channels; ++i) {
    const double steps = std::nearbyint(
        numbers[static_cast<size_t>(i)] /
        static_cast<double>(x_scale * scales[static_cast<size_t>(scales.size() > 1 ? i : 0)]));
    if (!(std::fabs(steps) < 1 << 30)) return {};
    out.data<int32_t>()[i] = static_cast<int32_t>(steps);
  }
  return out;
}

/// An addition of one number a column behind a product without a bias, as exporters write it when
/// the bias is quantized.
bool Quantizer::take_bias(OpCall& product, int& at, ValueId& y, ValueId& b) const {
  const int next = uses_.only_reader(y);
  if (next < 0 || !is(p_.ops[static_cast<size_t>(next)], "add")) return false;
  const OpCall& add = p_.ops[static_cast<size_t>(next)];
  const ValueId other = add.in[0] == y ? add.in[1] : add.in[0];
  const OpCall* d = writer(other, "dequantize");
  const Tensor& v = known(d != nullptr ? d->in[0] : other);
  if (!v || v.shape().rank() != 1 || product.out.size() != 1) return false;
  b = other;
  y = add.out[0];
  at = next;
  return true;
}

/// The activation that alone reads y joins the call.
bool Quantizer::take_step(int& at, ValueId& y, OpCall& call) const {
  const int next = uses_.only_reader(y);
  if (next < 0) return false;
  const OpCall& f = p_.ops[static_cast<size_t>(next)];
  if (f.out.size() != 1 || f.out[0] == absent || f.in[0] != y) return false;
  const auto step = step_of(f, [&](size_t i) { return scalar_of(p_, f.in[i]); });
  if (!step || step->kind == "hard_sigmoid") return false;
  auto posts = read_post(call.attrs);
  posts.push_back(*step);
  if (steps_clash(posts)) return false;
  add_post(call.attrs, *step);
  at = next;
  y = f.out[0];
  return true;
}

void Quantizer::fuse_products() {
  for (size_t c = 0; c < p_.ops.size(); ++c) {
    const bool conv = is(p_.ops[c], "conv");
    if (gone_[c] != 0 || (!conv && !is(p_.ops[c], "matmul"))) continue;
    OpCall product = p_.ops[c];
    if (product.attrs.has("post") || product.in.size() > 3) continue;
    if (product.attrs.f("alpha", 1) != 1 || product.attrs.i("trans_a", 0) != 0) continue;
    const OpCall* x = computed(product.in[0]);
    if (x == nullptr) continue;
    const auto w = weights_of(product.in[1], conv, product.attrs.i("trans_b", 0) != 0);
    if (!w) continue;
    const Shape& shape = p_[w->values].constant.shape();
    const int64_t channels = conv || product.attrs.i("trans_b", 0) != 0 ? shape[0] : shape[1];
    const Tensor& w_scale = p_[w->scale].constant;
    if (w_scale.numel() != 1 && w_scale.numel() != channels) continue;
    int at = static_cast<int>(c);
    ValueId y = product.out[0];
    ValueId b = product.in.size() > 2 ? product.in[2] : absent;
    const int own = at;
    if (b == absent && !conv) take_bias(product, at, y, b);
    std::optional<Tensor> bias;
    if (b != absent) {
      const auto x_scale = static_cast<float>(*scalar_of(p_, x->in[1]));
      bias = bias_of(b, x_scale, w_scale, channels);
      if (!bias && at == own) continue;
      if (!bias) {  // the addition stays
        at = own;
        y = product.out[0];
      }
    }
    OpCall call = product;
    call.op = find_op(conv ? "quantized_conv" : "quantized_matmul");
    call.in = {x->in[0], x->in[1], zero_of(*x), w->values, w->scale, absent, absent, absent};
    call.attrs.erase("alpha");
    if (w->narrow) call.attrs.set("narrow", int64_t{1});
    while (take_step(at, y, call)) {
    }
    const int next = uses_.only_reader(y);
    if (next >= 0 && is(p_.ops[static_cast<size_t>(next)], "quantize")) {
      const OpCall& out = p_.ops[static_cast<size_t>(next)];
      if (one_step(out) && bytes_of(out) != DType::none) {
        call.in[q::y_scale] = out.in[1];
        call.in[q::y_zero] = zero_of(out);
        at = next;
        y = out.out[0];
      }
    }
    if (bias) call.in.push_back(p_.add_constant(p_[b].name, std::move(*bias)));
    while (!call.in.empty() && call.in.back() == absent) call.in.pop_back();
    call.out = {y};
    gone_[c] = 1;
    gone_[static_cast<size_t>(at)] = 0;
    p_.ops[static_cast<size_t>(at)] = std::move(call);
  }
}

void Quantizer::fuse_sums() {
  for (size_t c = 0; c < p_.ops.size(); ++c) {
    const OpCall& add = p_.ops[c];
    if (gone_[c] != 0 || !is(add, "add")) continue;
    const OpCall* a = computed(add.in[0]);
    const OpCall* b = computed(add.in[1]);
    if (a == nullptr || b == nullptr || bytes_of(*a) != bytes_of(*b)) continue;
    OpCall call;
    call.name = add.name;
    call.op = find_op("quantized_add");
    int at = static_cast<int>(c);
    ValueId y = add.out[0];
    while (take_step(at, y, call)) {
    }
    const int next = uses_.only_reader(y);
    if (next < 0 || !is(p_.ops[static_cast<size_t>(next)], "quantize")) continue;
    const OpCall& out = p_.ops[static_cast<size_t>(next)];
    if (!one_step(out) || zero_of(out) == absent || bytes_of(out) != bytes_of(*a)) continue;
    call.in = {a->in[0], a->in[1],    zero_of(*a), b->in[0],
               b->in[1], zero_of(*b), out.in[1],   zero_of(out)};
    call.out = {out.out[0]};
    gone_[c] = 1;
    gone_[static_cast<size_t>(next)] = 0;
    p_.ops[static_cast<size_t>(next)] = std::move(call);
  }
}

void Quantizer::cancel() {
  for (OpCall& call : p_.ops) {
    if (!is(call, "quantize") || !one_step(call)) continue;
    const OpCall* d = computed(call.in[0]);
    if (d == nullptr || !same_step(*d, call)) continue;
    call.in = {d->in[0]};
    call.op = find_op("identity");
    call.attrs = {};
  }
}

/// Whether the call gives numbers that it takes, whatever they stand for.
bool moves(const OpCall& call) {
  if (call.out.size() != 1) return false;
  if (is(call, "pool")) return call.attrs.s("kind", "max") == "max";
  for (std::string_view op :
       {"reshape", "flatten", "squeeze", "unsqueeze", "transpose", "identity", "concat"})
    if (is(call, op)) return true;
  return false;
}

/// Calls that only move or compare numbers come before dequantize.
void move_dequantize(Program& p) {
  const Quantizer before(p);
  std::map<ValueId, OpCall> made;  // the dequantize that writes a value, new ones among them
  std::vector<OpCall> ops;
  auto source = [&](ValueId id) -> const OpCall* {
    const auto it = made.find(id);
    return it == made.end() ? before.computed(id) : &it->second;
  };
  for (OpCall call : std::vector<OpCall>(p.ops)) {
    const OpCall* first = moves(call) ? source(call.in[0]) : nullptr;
    bool all = first != nullptr;
    const bool concat = is(call, "concat");
    for (size_t i = 1; all && concat && i < call.in.size(); ++i) {
      const OpCall* other = source(call.in[i]);
      all = other != nullptr && before.same_step(*first, *other);
    }
    if (!all) {
      ops.push_back(std::move(call));
      continue;
    }
    OpCall back = *first;
    const ValueId y = call.out[0];
    for (size_t i = 0; i < (concat ? call.in.size() : 1); ++i)
      call.in[i] = source(call.in[i])->in[0];
    call.out[0] = p.add_value("");
    back.in[0] = call.out[0];
    back.out[0] = y;
    back.attrs = {};
    ops.push_back(std::move(call));
    made[y] = back;
    ops.push_back(std::move(back));
  }
  p.ops = std::move(ops);
}

/// int8 between quantize and dequantize becomes uint8 with a zero point 128 higher, which every
/// processor multiplies with int8 weights at its best.
void unsign(Program& p) {
  const Uses uses(p);
  const Quantizer steps(p);
  auto fits = [&](const OpCall& call) {
    const ValueId zero = Quantizer::zero_of(call);
    return steps.one_step(call) && zero != absent && p[zero].constant.dtype() == DType::i8;
  };
  std::map<ValueId, ValueId> raised;
  auto raise = [&](OpCall& call) {
    auto [it, fresh] = raised.try_emplace(call.in[2], absent);
    if (fresh) {
      const Tensor& old = p[call.in[2]].constant;
      Tensor t(DType::u8, old.shape());
      *t.data<uint8_t>() = static_cast<uint8_t>(*old.data<int8_t>() + 128);
      it->second = p.add_constant(p[call.in[2]].name, std::move(t));
    }
    call.in[2] = it->second;
  };
  for (size_t c = 0; c < p.ops.size(); ++c) {
    if (!is(p.ops[c], "quantize") || !fits(p.ops[c])) continue;
    const auto& readers = uses.readers[static_cast<size_t>(p.ops[c].out[0])];
    bool all = true;
    for (int r : readers)
      all = all && r >= 0 && is(p.ops[static_cast<size_t>(r)], "dequantize") &&
            fits(p.ops[static_cast<size_t>(r)]);
    if (!all) continue;
    raise(p.ops[c]);
    for (int r : readers) raise(p.ops[static_cast<size_t>(r)]);
  }
}

/// Calls that a file asked for, in integers that the products of a device do not take, as floats
/// between dequantize and quantize.
void expand_imported(Program& p) {
  std::vector<OpCall> ops;
  for (OpCall& call : p.ops) {
    const bool conv = call.op->name == "quantized_conv";  // its zero points may be absent
    auto at = [&](size_t i) { return i < call.in.size() ? call.in[i] : absent; };
    auto constant = [&](size_t i) { return at(i) != absent && p[at(i)].constant; };
    bool known = (conv || call.op->name == "quantized_matmul") && !call.attrs.has("post") &&
                 constant(q::w) && constant(q::w_scale);
    if (const ValueId zero = known ? at(q::w_zero) : absent; zero != absent)
      known =
          p[zero].constant && p[zero].constant.numel() == p[call.in[q::w_scale]].constant.numel();
    if (!known) {
      ops.push_back(std::move(call));
      continue;
    }
    auto add = [&](std::string_view op, std::vector<ValueId> in, Attrs attrs) {
      OpCall made;
      made.op = find_op(op);
      made.name = call.name;
      while (!in.empty() && in.back() == absent) in.pop_back();
      made.in = std::move(in);
      made.attrs = std::move(attrs);
      made.out = {p.add_value("")};
      ops.push_back(std::move(made));
      return ops.back().out[0];
    };
    const ValueId x = add("dequantize", {at(q::x), at(q::x_scale), at(q::x_zero)}, {});
    const bool trans_b = call.attrs.i("trans_b", 0) != 0;
    const ValueId w = add("dequantize", {at(q::w), at(q::w_scale), at(q::w_zero)},
                          {{"axis", int64_t{conv || trans_b ? 0 : 1}}});
    ValueId b = absent;
    if (at(q::bias) != absent) {
      const OpCall scale{
          find_op("mul"), {at(q::x_scale), at(q::w_scale)}, {p.add_value("")}, {}, ""};
      ops.push_back(scale);
      b = add("dequantize", {at(q::bias), scale.out[0]}, {{"axis", int64_t{0}}});
    }
    Attrs attrs = call.attrs;
    attrs.erase("narrow");
    const ValueId y = add(conv ? "conv" : "matmul", {x, w, b}, attrs);
    if (at(q::y_scale) == absent) {
      ops.back().out = call.out;
    } else {
      add("quantize", {y, at(q::y_scale), at(q::y_zero)}, {});
      ops.back().out = call.out;
    }
  }
  p.ops = std::move(ops);
}

}  // namespace

void form_quantized(Program& program) {
  bool some = false;
  for (const OpCall& call : program.ops)
    some = some || is(call, "dequantize") || call.op->name.starts_with("quantized_");
  if (!some) return;
  expand_imported(program);
  fold_constants(program, "dequantize");
  remove_dead(program);
  unsign(program);
  move_dequantize(program);
  auto pass = [&](void (Quantizer::*rewrite)()) {
    Quantizer quantizer(program);
    (quantizer.*rewrite)();
    quantizer.finish();
  };
  pass(&Quantizer::cancel);
  pass(&Quantizer::fuse_products);
  pass(&Quantizer::fuse_sums);
}

}  // namespace hub
