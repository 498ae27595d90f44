// What the passes share, dead code, and constants that follow from constants.
#include <algorithm>

#include "base/error.h"
#include "runtime/op.h"
#include "runtime/passes/passes.h"

namespace hub {

Uses::Uses(const Program& program)
    : writer(program.values.size(), -1), readers(program.values.size()) {
  for (size_t c = 0; c < program.ops.size(); ++c) {
    for (ValueId id : program.ops[c].in) {
      if (id != absent) readers[static_cast<size_t>(id)].push_back(static_cast<int>(c));
    }
    for (ValueId id : program.ops[c].out) {
      if (id != absent) writer[static_cast<size_t>(id)] = static_cast<int>(c);
    }
  }
  for (ValueId id : program.outputs) readers[static_cast<size_t>(id)].push_back(-1);
  for (const State& s : program.states)
    if (s.next != absent) readers[static_cast<size_t>(s.next)].push_back(-1);
}

int Uses::only_reader(ValueId id) const {
  const auto& r = readers[static_cast<size_t>(id)];
  return r.size() == 1 ? r[0] : -1;
}

const OpCall* writer_of(const Program& program, const Uses& uses, ValueId id, std::string_view op) {
  const int w = id == absent ? -1 : uses.writer[static_cast<size_t>(id)];
  if (w < 0 || !is(program.ops[static_cast<size_t>(w)], op)) return nullptr;
  return &program.ops[static_cast<size_t>(w)];
}

bool is(const OpCall& call, std::string_view op) {
  const auto needs = static_cast<size_t>(call.op->min_inputs);
  if (call.op->name != op || call.in.size() < needs) return false;
  const auto given = call.in.begin();
  return !call.out.empty() && call.out[0] != absent &&
         std::find(given, given + call.op->min_inputs, absent) == given + call.op->min_inputs;
}

std::optional<double> scalar_of(const Program& program, ValueId id) {
  if (id == absent) return {};
  const Tensor& t = program[id].constant;
  if (!t || t.numel() != 1) return {};
  return t.dtype() == DType::f64 ? *t.data<double>() : static_cast<double>(t.to_floats()[0]);
}

std::vector<Spec> infer_call(const Program& program, const OpCall& call,
                             const std::vector<Spec>& specs,
                             const std::vector<const Tensor*>& known) {
  std::vector<const Spec*> in;
  std::vector<const Tensor*> values;
  for (ValueId id : call.in) {
    in.push_back(id == absent ? nullptr : &specs[static_cast<size_t>(id)]);
    values.push_back(id == absent ? nullptr : known[static_cast<size_t>(id)]);
  }
  const std::string label = !call.name.empty() || call.out.empty() || call.out[0] == absent
                                ? call.name
                                : program[call.out[0]].name;
  auto out = within(concat("call '", label, "'"),
                    [&] { return infer_outputs(*call.op, Infer(call.attrs, in, values)); });
  if (out.size() < call.out.size()) {
    fail(Code::refused, call.op->name, " gives ", out.size(), " outputs; ", call.out.size(),
         " are wanted");
  }
  return out;
}

void remove_dead(Program& program) {
  std::vector<ValueId> same(program.values.size());
  for (size_t i = 0; i < same.size(); ++i) same[i] = static_cast<ValueId>(i);
  for (OpCall& call : program.ops) {
    for (ValueId& id : call.in) {
      if (id != absent) id = same[static_cast<size_t>(id)];
    }
    if (is(call, "identity") && call.out[0] != absent) {
      same[static_cast<size_t>(call.out[0])] = call.in[0];
    }
  }
  // An output keeps its name: an identity that makes one stays when its input is an input or a
  // constant.
  const Uses uses(program);
  for (ValueId& id : program.outputs) {
    const ValueId source = same[static_cast<size_t>(id)];
    if (uses.writer[static_cast<size_t>(source)] >= 0) {
      if (program[source].declared.dtype == DType::none) {
        program[source].declared = program[id].declared;
      }
      id = source;
    }
  }
  for (State& s : program.states)
    if (s.next != absent) s.next = same[static_cast<size_t>(s.next)];
  std::vector<char> wanted(program.values.size(), 0);
  for (ValueId id : program.outputs) wanted[static_cast<size_t>(id)] = 1;
  for (const State& s : program.states)
    if (s.next != absent) wanted[static_cast<size_t>(s.next)] = 1;
  std::vector<OpCall> kept;
  for (size_t c = program.ops.size(); c-- > 0;) {
    OpCall& call = program.ops[c];
    bool used = false;
    for (ValueId& id : call.out) {
      if (id == absent) continue;
      if (wanted[static_cast<size_t>(id)] != 0) {
        used = true;
      } else {
        id = absent;
      }
    }
    if (!used) continue;
    for (ValueId id : call.in) {
      if (id != absent) wanted[static_cast<size_t>(id)] = 1;
    }
    kept.push_back(std::move(call));
  }
  program.ops.assign(std::make_move_iterator(kept.rbegin()), std::make_move_iterator(kept.rend()));
  for (ValueId id : program.inputs) wanted[static_cast<size_t>(id)] = 1;
  for (size_t i = 0; i < program.values.size(); ++i) {
    if (wanted[i] == 0) program.values[i].constant = {};
  }
}

namespace {

bool can_be_constant(const Spec& spec, int64_t most) {
  return is_plain(spec.dtype) && spec.shape.numel() <= most;
}

}  // namespace

void fold_constants(Program& program, std::string_view except) {
  // Larger results of small inputs (a filled tensor) are cheaper to make than to keep.
  constexpr int64_t small = 1 << 16;
  std::vector<Spec> specs(program.values.size());
  std::vector<const Tensor*> known(program.values.size());
  const auto learn = [&](ValueId id) {
    if (!program[id].constant) return;
    specs[static_cast<size_t>(id)] = program[id].constant.spec();
    known[static_cast<size_t>(id)] = &program[id].constant;
  };
  for (size_t i = 0; i < program.values.size(); ++i) learn(static_cast<ValueId>(i));
  std::vector<OpCall> kept;
  for (OpCall& call : program.ops) {
    bool all = !is(call, except);
    int64_t read = 0;
    std::vector<const Tensor*> in;
    for (ValueId id : call.in) {
      const Tensor* t = id == absent ? nullptr : known[static_cast<size_t>(id)];
      all = all && (id == absent || t != nullptr);
      if (t != nullptr) read += t->numel();
      in.push_back(t);
    }
    const bool folds =
        all && call.out.size() == 1 && call.op->run == nullptr && !call.op->random &&
        can_be_constant(infer_call(program, call, specs, known)[0], std::max(small, read));
    if (!folds) {
      kept.push_back(std::move(call));
      continue;
    }
    program[call.out[0]].constant = run_reference(*call.op, call.attrs, in)[0];
    learn(call.out[0]);
  }
  program.ops = std::move(kept);
}

void optimize(Program& program) {
  push_transposes(program, nullptr);
  form_quantized(program);
  fold_constants(program);
  remove_dead(program);
  share_calls(program);
  nest_concats(program);
  push_transposes(program, nullptr);
  fold_affine(program);
  unroll_conv_transpose(program);
  fold_constants(program);
  remove_dead(program);
}

}  // namespace hub
