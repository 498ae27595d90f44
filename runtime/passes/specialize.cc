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

std::vector<Fate> infer_calls(Program& program, std::vector<Spec>& specs) {
  // Numbers computed from shapes are few; larger results are left to the run.
  constexpr int64_t small = 1 << 16;
  std::vector<const Tensor*> known(program.values.size(), nullptr);
  for (size_t i = 0; i < program.values.size(); ++i) {
    if (!program.values[i].constant) continue;
    specs[i] = program.values[i].constant.spec();
    known[i] = &program.values[i].constant;
  }
  std::vector<Fate> fates;
  for (OpCall& call : program.ops) {
    Fate& fate = fates.emplace_back(Fate::unknown);
    bool all = true;  // every number that it reads is there
    bool plain = true;
    std::vector<const Tensor*> in;
    std::vector<Tensor> shapes_only;
    shapes_only.reserve(call.in.size());
    for (size_t i = 0; i < call.in.size(); ++i) {
      const ValueId id = call.in[i];
      const Tensor* t = id == absent ? nullptr : known[static_cast<size_t>(id)];
      if (id != absent) {
        const Spec& s = specs[static_cast<size_t>(id)];
        plain = plain && s.dtype != DType::none && is_plain(s.dtype);
        if (t == nullptr && (call.op->spec_only >> i & 1) != 0)
          t = &shapes_only.emplace_back(s.dtype, s.shape, nullptr, nullptr);
      }
      all = all && (id == absent || t != nullptr);
      in.push_back(t);
    }
    if (!plain) continue;
    std::vector<Spec> out;
    try {
      out = infer_call(program, call, specs, known);
    } catch (const ValueUnknown&) {
      continue;
    }
    int64_t produced = 0;
    for (const Spec& s : out) {
      plain = plain && is_plain(s.dtype);
      produced += s.shape.numel();
    }
    if (!plain) continue;
    for (size_t i = 0; i < call.out.size(); ++i)
      if (call.out[i] != absent) specs[static_cast<size_t>(call.out[i])] = out[i];
    fate = all && !call.op->random && produced <= small ? Fate::folded : Fate::runs;
    if (fate == Fate::runs) continue;
    const auto results = run_reference(*call.op, call.attrs, in);
    for (size_t i = 0; i < call.out.size(); ++i) {
      if (call.out[i] == absent) continue;
      Value& v = program[call.out[i]];
      v.constant = results[i];
      known[static_cast<size_t>(call.out[i])] = &v.constant;
    }
  }
  return fates;
}

bool specialize(Program& program, const std::vector<Spec>& inputs, std::vector<Spec>& specs) {
  specs.assign(program.values.size(), {});
  for (size_t i = 0; i < inputs.size(); ++i)
    specs[static_cast<size_t>(program.inputs[i])] = inputs[i];
  for (const State& s : program.states)
    specs[static_cast<size_t>(s.value)] = program[s.value].declared;
  const auto fates = infer_calls(program, specs);
  for (ValueId id : program.outputs) {
    const DType type = specs[static_cast<size_t>(id)].dtype;
    if (type == DType::none || !is_plain(type)) return false;
  }
  std::vector<OpCall> kept;
  for (size_t c = 0; c < fates.size(); ++c) {
    if (fates[c] == Fate::unknown) return false;
    if (fates[c] == Fate::runs) kept.push_back(std::move(program.ops[c]));
  }
  program.ops = std::move(kept);
  drop_same_shape(program, specs);
  push_transposes(program, &specs);
  fold_pad(program);
  remove_dead(program);
  recover_patterns(program, specs);
  recover_attention(program, specs);
  fuse_norms(program, specs);
  compute_again(program, specs);
  fuse_post(program, specs);
  hoist_updates(program);
  return true;
}

}  // namespace hub
