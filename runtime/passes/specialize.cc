// Real shapes for every value, and constants from what follows from shapes alone.
#include "base/error.h"
#include "runtime/op.h"
#include "runtime/passes/passes.h"

namespace hub {
namespace {

/// expand_as, sum_to and the like to the shape that is there already: nothing happens.
void drop_same_shape(Program& program, const std::vector<Spec>& specs) {
  static const OpDef* const identity = find_op("identity");
  for (OpCall& call : program.ops) {
    if (!is(call, "expand_as") && !is(call, "sum_to") && !is(call, "reshape_as") &&
        !is(call, "matmul_operand"))
      continue;
    if (specs[static_cast<size_t>(call.in[0])] != specs[static_cast<size_t>(call.out[0])]) continue;
    call.op = identity;
    call.in.resize(1);
  }
}

}  // namespace

bool specialize(Program& program, const std::vector<Spec>& inputs, std::vector<Spec>& specs) {
  // Numbers computed from shapes are few; larger results are left to the run.
  constexpr int64_t small = 1 << 16;
  specs.assign(program.values.size(), {});
  std::vector<const Tensor*> known(program.values.size(), nullptr);
  for (size_t i = 0; i < inputs.size(); ++i) {
    specs[static_cast<size_t>(program.inputs[i])] = inputs[i];
  }
  for (const State& s : program.states) {
    specs[static_cast<size_t>(s.value)] = program[s.value].declared;
  }
  for (size_t i = 0; i < program.values.size(); ++i) {
    if (program.values[i].constant) {
      specs[i] = program.values[i].constant.spec();
      known[i] = &program.values[i].constant;
    }
  }
  std::vector<OpCall> kept;
  for (OpCall& call : program.ops) {
    std::vector<Spec> out;
    try {
      out = infer_call(program, call, specs, known);
    } catch (const ValueUnknown&) {
      return false;
    }
    for (size_t i = 0; i < call.out.size(); ++i) {
      if (call.out[i] != absent) specs[static_cast<size_t>(call.out[i])] = out[i];
    }
    std::vector<const Tensor*> in;
    std::vector<Tensor> shapes_only;
    shapes_only.reserve(call.in.size());
    bool all = true;
    for (size_t i = 0; i < call.in.size(); ++i) {
      const ValueId id = call.in[i];
      const Tensor* t = id == absent ? nullptr : known[static_cast<size_t>(id)];
      if (id != absent && t == nullptr && (call.op->spec_only >> i & 1) != 0) {
        const Spec& s = specs[static_cast<size_t>(id)];
        t = &shapes_only.emplace_back(s.dtype, s.shape, nullptr, nullptr);
      }
      all = all && (id == absent || t != nullptr);
      in.push_back(t);
    }
    int64_t produced = 0;
    for (const Spec& s : out) produced += s.shape.numel();
    if (!all || produced > small) {
      kept.push_back(std::move(call));
      continue;
    }
    const auto results = run_reference(*call.op, call.attrs, in);
    for (size_t i = 0; i < call.out.size(); ++i) {
      if (call.out[i] == absent) continue;
      Value& v = program[call.out[i]];
      v.constant = results[i];
      known[static_cast<size_t>(call.out[i])] = &v.constant;
    }
  }
  program.ops = std::move(kept);
  drop_same_shape(program, specs);
  remove_dead(program);
  recover_patterns(program, specs);
  fuse_norms(program, specs);
  compute_again(program, specs);
  fuse_post(program, specs);
  hoist_updates(program);
  return true;
}

}  // namespace hub
