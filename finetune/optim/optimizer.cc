#include "finetune/optim/optimizer.h"

#include <algorithm>
#include <map>

#include "base/error.h"
#include "base/text.h"

namespace hub {
namespace {

/// How a kind of optimizer is written: the operator, its slots and whether it counts steps.
struct Kind {
  std::string_view op;
  std::vector<std::string_view> slots;
  bool counts = false;
};

const std::map<std::string, Kind>& kinds() {
  static const std::map<std::string, Kind> all = {
      {"sgd", {"sgd", {}}},
      {"momentum", {"momentum", {"v:"}}},
      {"nesterov", {"momentum", {"v:"}}},
      {"adam", {"adam", {"m:", "v:"}, true}},
      {"adamw", {"adam", {"m:", "v:"}, true}},
      {"lamb", {"lamb", {"m:", "v:"}, true}},
      {"rmsprop", {"rmsprop", {"s:"}}},
      {"adagrad", {"adagrad", {"s:"}}},
      {"adadelta", {"adadelta", {"s:", "d:"}}},
  };
  return all;
}

Tensor zeros(const Spec& spec) {
  Tensor t(spec.dtype, spec.shape);
  std::fill_n(t.data<std::byte>(), t.bytes(), std::byte{0});
  return t;
}

class StepBuilder {
 public:
  StepBuilder(Program& program, NamedTensors& states, const OptimizerOptions& options)
      : p_(program), states_(states), o_(options), kind_(kinds().at(options.kind)) {}

  StepOutputs build(Var loss, const std::function<bool(std::string_view)>& trains,
                    const std::function<double(std::string_view)>& rate_factor,
                    StepKind step_kind) {
    const size_t before = p_.states.size();
    for (size_t i = 0; i < before; ++i) {
      const State& s = p_.states[i];
      if (s.next == absent && trains(p_[s.value].name)) params_.push_back({&p_, s.value});
    }
    if (params_.empty()) fail(Code::usage, "nothing trains: every parameter is frozen");
    grads_ = append_backward(p_, loss, params_, step_kind.recompute);
    drop_unreached();
    if (step_kind.add || step_kind.take) accumulate(step_kind);
    StepOutputs out;
    for (const Var& v : params_) out.names.push_back(p_[v.id].name);
    if (o_.clip_value > 0 && !step_kind.add) {
      for (Var& g : grads_) g = clip(g, -o_.clip_value, o_.clip_value);
    }
    out.squares = hub::apply("square_sums", grads_);
    if (step_kind.add) return out;
    const Var total = add(apply("reduce_sum", {out.squares}, {{"keepdims", int64_t{0}}}), loss);
    // 0 when all is finite, else NaN: the updates leave everything as it was.
    const Var bad = mul(number(0), total);
    const Var rate{&p_, p_.add_input("rate", {DType::f32, {}})};
    const Var step{&p_, p_.add_input("step", {DType::i64, {}})};
    Var scale = add(number(1), bad);
    if (o_.clip_norm > 0) scale = add(clipped(sum(out.squares), o_.clip_norm), bad);
    for (size_t i = 0; i < params_.size(); ++i) {
      Var own = scale;
      if (o_.clip_each > 0)
        own = mul(scale, clipped(sum(apply("square_sums", {grads_[i]})), o_.clip_each));
      update(params_[i], grads_[i], rate, own, step, rate_factor(p_[params_[i].id].name));
    }
    commit_others(before, scale);
    return out;
  }

 private:
  Var number(float v) { return constant(p_, Tensor::scalar(v)); }
  Var sum(Var v) { return apply("reduce_sum", {v}, {{"keepdims", int64_t{0}}}); }

  /// min(1, most / (norm + 1e-6)), as torch.nn.utils.clip_grad_norm_.
  Var clipped(Var square, double most) {
    const Var norm = add(unary("sqrt", square), number(1e-6F));
    return apply("min", {number(1), apply("div", {number(static_cast<float>(most)), norm})});
  }

  /// A parameter the loss does not depend on has no gradient: it stays.
  void drop_unreached() {
    Vars params, grads;
    for (size_t i = 0; i < params_.size(); ++i) {
      if (!grads_[i]) continue;
      params.push_back(params_[i]);
      grads.push_back(grads_[i]);
    }
    if (params.empty()) fail(Code::usage, "the loss depends on no parameter that trains");
    params_ = params;
    grads_ = grads;
  }

  Var state(std::string_view prefix, Var like, const Tensor& start) {
    const std::string name = concat(prefix, p_[like.id].name);
    states_.try_emplace(name, start);
    return {&p_, p_.add_state(name, p_[like.id].declared)};
  }
  Var zero_state(std::string_view prefix, Var like) {
    const std::string name = concat(prefix, p_[like.id].name);
    if (!states_.contains(name)) states_.emplace(name, zeros(p_[like.id].declared));
    return {&p_, p_.add_state(name, p_[like.id].declared)};
  }
  void becomes(Var state, Var next) {
    for (State& s : p_.states)
      if (s.value == state.id) s.next = next.id;
  }

  void accumulate(StepKind step_kind) {
    for (size_t i = 0; i < params_.size(); ++i) {
      const Var kept = zero_state(sum_prefix, params_[i]);
      grads_[i] = add(kept, grads_[i]);
      becomes(kept, step_kind.add ? grads_[i] : apply("expand_as", {number(0), kept}));
    }
  }

  void update(Var p, Var g, Var rate, Var scale, Var step, double rate_factor) {
    const std::string name = p_[p.id].name;  // values move as others are added
    const bool decays = o_.decay_all || p_[p.id].declared.shape.rank() > 1;
    if (o_.l2sp > 0 && !name.starts_with("head.")) {
      const Var start = state(start_prefix, p, states_.at(name).clone());
      const Var pull = mul(number(static_cast<float>(o_.l2sp)), apply("sub", {p, start}));
      // The update multiplies by the scale; the pull is no part of what is clipped.
      g = add(g, pull);
    }
    Vars in{p, g, rate, scale};
    for (std::string_view slot : kind_.slots) in.push_back(zero_state(slot, p));
    if (kind_.counts) in.push_back(step);
    Attrs attrs{{"rate_factor", rate_factor},
                {"weight_decay", decays ? o_.weight_decay : 0.0},
                {"momentum", o_.momentum},
                {"nesterov", int64_t{o_.kind == "nesterov"}},
                {"beta1", o_.beta1},
                {"beta2", o_.beta2},
                {"rho", o_.rho},
                {"alpha", o_.alpha},
                {"decoupled", int64_t{o_.kind == "adamw"}}};
    if (o_.epsilon > 0) attrs.set("epsilon", o_.epsilon);
    const Vars out = apply(*find_op(kind_.op), in, attrs, 1 + kind_.slots.size());
    becomes(p, out[0]);
    for (size_t i = 0; i < kind_.slots.size(); ++i) becomes(in[4 + i], out[1 + i]);
    if (o_.ema > 0) {
      const Var average = state(ema_prefix, p, states_.at(name).clone());
      becomes(average, apply("ema", {average, out[0]}, {{"decay", o_.ema}}));
    }
  }

  /// What the network itself changes (running statistics): not when the step is left out.
  void commit_others(size_t count, Var scale) {
    for (size_t i = 0; i < count; ++i) {
      State& s = p_.states[i];
      const bool trained = std::any_of(params_.begin(), params_.end(),
                                       [&](const Var& v) { return v.id == s.value; });
      if (s.next == absent || trained) continue;
      const ValueId next = s.next, value = s.value;
      const Var kept = apply("commit", {{&p_, value}, {&p_, next}, scale});
      p_.states[i].next = kept.id;
    }
  }

  Program& p_;
  NamedTensors& states_;
  const OptimizerOptions& o_;
  const Kind& kind_;
  Vars params_, grads_;
};

}  // namespace

void OptimizerOptions::check() const {
  std::vector<std::string> names;
  for (const auto& [name, k] : kinds()) names.push_back(name);
  if (!kinds().contains(kind))
    fail(Code::usage, "optimizer '", printable(kind), "'; wanted ", one_of(names));
  const auto within = [](std::string_view what, double v, double least, double most) {
    if (!(v >= least && v <= most))
      fail(Code::usage, what, " is ", v, ", wanted ", least, " to ", most);
  };
  within("weight decay", weight_decay, 0, 10);
  within("momentum", momentum, 0, 1);
  within("beta1", beta1, 0, 0.999999);
  within("beta2", beta2, 0, 0.9999999);
  within("epsilon", epsilon, 0, 1);
  within("clip norm", clip_norm, 0, 1e9);
  within("clip each", clip_each, 0, 1e9);
  within("clip value", clip_value, 0, 1e9);
  within("l2sp", l2sp, 0, 100);
  within("ema", ema, 0, 0.999999);
}

StepOutputs append_step(Program& program, Var loss, NamedTensors& states,
                        const OptimizerOptions& options,
                        const std::function<bool(std::string_view)>& trains,
                        const std::function<double(std::string_view)>& rate_factor,
                        StepKind step_kind) {
  options.check();
  return StepBuilder(program, states, options).build(loss, trains, rate_factor, step_kind);
}

}  // namespace hub
