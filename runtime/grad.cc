#include "runtime/grad.h"

#include <cmath>

#include "base/error.h"

namespace hub {

Var Grad::x(size_t i) const { return has(i) ? Var{&program_, call_.in[i]} : Var{}; }

Var Grad::y(size_t i) const {
  return i < call_.out.size() && call_.out[i] != absent ? Var{&program_, call_.out[i]} : Var{};
}

void Grad::dx(size_t i, Var gradient) {
  if (has(i)) dx_[i] = gradient;
}

Var Grad::number(double value, Var like) const {
  Tensor t(DType::f64, {});
  *t.data<double>() = value;
  return apply("cast", {constant(program_, std::move(t)), like});
}

void zero_gradient(Grad&) {}

namespace {

/// Whether the outputs of a call, as functions of its inputs, have no slope anywhere.
bool flat(const OpCall& call) {
  if (call.op->grad == zero_gradient) return true;
  if (call.op->name != "cast" || !call.attrs.has("to")) return false;
  const DType to = dtype_named(call.attrs.s("to"));
  return to != DType::f16 && to != DType::bf16 && to != DType::f32 && to != DType::f64;
}

/// Whether input i of a call is one of the values.
bool flows_into(const OpCall& call, size_t i, const std::vector<bool>& values) {
  const ValueId id = call.in[i];
  const bool setting = i < 32 && (call.op->settings >> i & 1) != 0;
  return id != absent && static_cast<size_t>(id) < values.size() &&
         values[static_cast<size_t>(id)] && !setting;
}

class Backward {
 public:
  Backward(Program& program, const Vars& wrt, bool recompute)
      : program_(program), parts_(program.values.size()), again_(program.values.size(), absent) {
    const auto count = static_cast<double>(program_.ops.size());
    if (recompute) segment_ = static_cast<size_t>(std::ceil(std::sqrt(count)));
    std::vector<ValueId> from;
    for (const Var& v : wrt) from.push_back(v.id);
    depends_ = depending_on(program, from);
  }

  Vars run(Var loss, const Vars& wrt) {
    const size_t count = program_.ops.size();
    if (depends_[static_cast<size_t>(loss.id)]) {
      Tensor one(DType::f64, {});
      *one.data<double>() = 1;
      const Var seed = apply("cast", {constant(program_, std::move(one)), loss});
      parts_[static_cast<size_t>(loss.id)] = {apply("expand_as", {seed, loss})};
      // What lies behind the last full segment is still there when its gradient is computed.
      const size_t kept = segment_ == 0 ? 0 : count / segment_ * segment_;
      for (size_t c = count; c-- > 0;) {
        if (segment_ > 0 && c < kept && (c + 1) % segment_ == 0) compute_again(c + 1 - segment_);
        call(c);
      }
    }
    Vars out;
    for (const Var& v : wrt) {
      const Var g = total(v.id);
      if (g && program_.tape.tape == nullptr)
        program_.rename(g.id, concat(program_[v.id].name, "@grad"));
      out.push_back(g);
    }
    return out;
  }

 private:
  bool flows(const OpCall& call, size_t i) const { return flows_into(call, i, depends_); }

  /// The sum of what reached a value; empty when nothing did.
  Var total(ValueId id) {
    if (static_cast<size_t>(id) >= parts_.size()) return {};
    Vars& parts = parts_[static_cast<size_t>(id)];
    if (parts.empty()) return {};
    Var sum = parts[0];
    for (size_t i = 1; i < parts.size(); ++i) sum = apply("add", {sum, parts[i]});
    parts = {sum};
    return sum;
  }

  /// Appends the calls of a segment once more, so that their results need not be kept till now.
  void compute_again(size_t first) {
    for (size_t c = first; c < first + segment_; ++c) {
      OpCall call = with_again(program_.ops[c]);
      bool any = false;
      for (ValueId& id : call.out) {
        if (id == absent) continue;
        any = any || depends_[static_cast<size_t>(id)];
        id = again_[static_cast<size_t>(id)] = program_.add_value({});
      }
      if (any) {
        program_.ops.push_back(std::move(call));
      } else {
        for (ValueId id : program_.ops[c].out)
          if (id != absent) again_[static_cast<size_t>(id)] = absent;
      }
    }
  }

  /// The call on the values that were computed again.
  OpCall with_again(OpCall call) const {
    for (ValueId& id : call.in) {
      if (id != absent && static_cast<size_t>(id) < again_.size() &&
          again_[static_cast<size_t>(id)] != absent)
        id = again_[static_cast<size_t>(id)];
    }
    return call;
  }

  void call(size_t c) {
    // A copy: the rule appends to the list of calls.
    const OpCall call = program_.ops[c];
    std::vector<bool> wanted(call.in.size());
    bool any = false;
    for (size_t i = 0; i < wanted.size(); ++i) any = (wanted[i] = flows(call, i)) || any;
    if (!any) return;
    Vars dy;
    bool reached = false;
    for (ValueId id : call.out) {
      dy.push_back(id == absent ? Var{} : total(id));
      reached = reached || dy.back();
    }
    if (!reached) return;
    if (call.op->grad == nullptr) {
      fail(Code::unsupported, "operator '", call.op->name, "' ('",
           call.out[0] == absent ? call.name : program_[call.out[0]].name, "') has no gradient",
           call.op->no_grad.empty() ? "" : ": ", call.op->no_grad, "; freeze what comes before it");
    }
    OpCall seen = with_again(call);
    for (ValueId& id : seen.out) {
      if (id != absent && again_[static_cast<size_t>(id)] != absent)
        id = again_[static_cast<size_t>(id)];
    }
    Grad grad(program_, seen, std::move(dy), wanted);
    within(concat("gradient of ", call.op->name), [&] { call.op->grad(grad); });
    for (size_t i = 0; i < call.in.size(); ++i) {
      if (wanted[i] && grad.result()[i])
        parts_[static_cast<size_t>(call.in[i])].push_back(grad.result()[i]);
    }
  }

  Program& program_;
  std::vector<bool> depends_;
  std::vector<Vars> parts_;
  size_t segment_ = 0;          ///< calls a segment that is computed again; 0: none is
  std::vector<ValueId> again_;  ///< the second computation of a value
};

}  // namespace

std::vector<bool> depending_on(const Program& program, const std::vector<ValueId>& from) {
  std::vector<bool> depends(program.values.size());
  for (ValueId id : from) depends[static_cast<size_t>(id)] = true;
  for (const OpCall& call : program.ops) {
    bool any = false;
    for (size_t i = 0; i < call.in.size(); ++i) any = any || flows_into(call, i, depends);
    if (!any || flat(call)) continue;
    for (ValueId id : call.out)
      if (id != absent) depends[static_cast<size_t>(id)] = true;
  }
  return depends;
}

Vars append_backward(Program& program, Var loss, const Vars& wrt, bool recompute) {
  return Backward(program, wrt, recompute).run(loss, wrt);
}

}  // namespace hub
