#include "runtime/train.h"

#include "base/error.h"
#include "runtime/block.h"
#include "runtime/op.h"

namespace hub {
namespace {

constexpr double norm_momentum = 0.9;

}  // namespace

std::shared_ptr<NamedTensors> make_trainable(Program& program,
                                             const std::function<bool(std::string_view)>& trains,
                                             bool norm_train) {
  lift_constants(program);
  auto states = std::make_shared<NamedTensors>();
  const auto to_state = [&](ValueId id) {
    Value& v = program[id];
    if (!v.constant) return;
    states->emplace(v.name, v.constant.clone());
    v.declared = v.constant.spec();
    v.constant = {};
    program.states.push_back({id, absent});
  };
  if (norm_train) {
    static const OpDef* const train_op = find_op("batch_norm_train");
    for (OpCall& call : program.ops) {
      if (call.op->name != "batch_norm") continue;
      const Value& scale = program[call.in[1]];
      if (!scale.constant || !trains(scale.name)) continue;
      call.op = train_op;
      call.attrs.set("momentum", norm_momentum);
      const ValueId y = call.out[0];
      call.out = {y, program.add_value({}), program.add_value({}), program.add_value({}),
                  program.add_value({})};
      for (size_t i = 0; i < 2; ++i) {
        to_state(call.in[3 + i]);
        for (State& s : program.states)
          if (s.value == call.in[3 + i]) s.next = call.out[3 + i];
      }
    }
  }
  // A setting (the scales of a resize) is no parameter, and neither is a number without dimensions.
  std::vector<bool> used(program.values.size()), fixed(program.values.size());
  for (const OpCall& call : program.ops) {
    for (size_t i = 0; i < call.in.size(); ++i) {
      if (call.in[i] == absent) continue;
      const auto at = static_cast<size_t>(call.in[i]);
      used[at] = used[at] || program.values[at].constant.shape().rank() > 0;
      fixed[at] = fixed[at] || (call.op->settings >> i & 1) != 0;
    }
  }
  for (size_t i = 0; i < used.size(); ++i) {
    const Value& v = program.values[i];
    const bool real = v.constant.dtype() == DType::f32 || v.constant.dtype() == DType::f64;
    if (real && used[i] && !fixed[i] && !v.name.starts_with('%') && trains(v.name))
      to_state(static_cast<ValueId>(i));
  }
  return states;
}

void freeze_states(Program& program, const NamedTensors& states) {
  for (const State& s : program.states) {
    Value& v = program[s.value];
    const auto it = states.find(v.name);
    if (it == states.end()) fail(Code::usage, "state '", v.name, "' has no numbers");
    v.constant = it->second;
  }
  program.states.clear();
  static const OpDef* const norm = find_op("batch_norm");
  for (OpCall& call : program.ops) {
    if (call.op->name != "batch_norm_train") continue;
    call.op = norm;
    call.out.resize(1);
    call.attrs.erase("momentum");
  }
}

}  // namespace hub
