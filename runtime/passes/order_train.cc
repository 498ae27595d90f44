// Training steps need less memory: what is cheap is computed again on the way back instead of being
// kept, and updates stand right behind their gradients.
#include <algorithm>

#include "runtime/op.h"
#include "runtime/passes/passes.h"

namespace hub {
namespace {

/// The index of the first call of the way back; the number of calls when there is none.
size_t turn(const Program& p) {
  for (size_t c = 0; c < p.ops.size(); ++c) {
    if (p.ops[c].op->name.ends_with("_grad") || p.ops[c].op->name.ends_with("_grad_held")) return c;
  }
  return p.ops.size();
}

/// The call that gives output 0 of `call` once more from inputs that are kept anyway; nothing when
/// it is not cheap.
std::optional<OpCall> again(const OpCall& call) {
  OpCall copy = call;
  copy.out = {absent};
  if (is(call, "gelu") || is(call, "layer_norm")) return copy;
  const bool norm = is(call, "batch_norm_train") || is(call, "batch_norm_train_held");
  if (!norm || call.in.size() > 5 || call.out[1] == absent || call.out[2] == absent) return {};
  copy.op = find_op("batch_norm_again");
  copy.in = {call.in[0], call.in[1], call.in[2], call.out[1], call.out[2]};
  return copy;
}

}  // namespace

void compute_again(Program& program, std::vector<Spec>& specs) {
  constexpr int64_t worth = 1 << 15;
  const size_t back = turn(program);
  const Uses uses(program);
  std::vector<std::vector<OpCall>> before(program.ops.size());
  for (size_t c = 0; c < back; ++c) {
    auto copy = again(program.ops[c]);
    const ValueId y = program.ops[c].out[0];
    if (!copy || y == absent) continue;
    const Spec spec = specs[static_cast<size_t>(y)];
    if (spec.dtype != DType::f32 || spec.shape.numel() < worth) continue;
    size_t first = program.ops.size();
    bool output = false;
    for (int r : uses.readers[static_cast<size_t>(y)]) {
      output = output || r < 0;
      if (r >= static_cast<int>(back)) first = std::min(first, static_cast<size_t>(r));
    }
    if (output || first == program.ops.size()) continue;
    // Only where its input is read later still, so that nothing more is kept.
    const auto& kept = uses.readers[static_cast<size_t>(copy->in[0])];
    if (std::none_of(kept.begin(), kept.end(), [&](int r) { return r > static_cast<int>(first); }))
      continue;
    const ValueId made = program.add_value({}, spec);
    specs.push_back(spec);
    copy->out = {made};
    for (int r : uses.readers[static_cast<size_t>(y)]) {
      if (r < static_cast<int>(back)) continue;
      auto& in = program.ops[static_cast<size_t>(r)].in;
      std::replace(in.begin(), in.end(), y, made);
    }
    before[first].push_back(std::move(*copy));
  }
  std::vector<OpCall> ops;
  for (size_t c = 0; c < program.ops.size(); ++c) {
    for (OpCall& call : before[c]) ops.push_back(std::move(call));
    ops.push_back(std::move(program.ops[c]));
  }
  program.ops = std::move(ops);
}

void hoist_updates(Program& program) {
  const Uses uses(program);
  const int count = static_cast<int>(program.ops.size());
  std::vector<std::vector<int>> behind(program.ops.size());
  std::vector<char> moved(program.ops.size(), 0);
  for (int c = 0; c < count; ++c) {
    const OpCall& call = program.ops[static_cast<size_t>(c)];
    bool update = !call.op->in_place.empty();
    for (ValueId id : call.out) {
      if (id == absent) continue;
      for (int r : uses.readers[static_cast<size_t>(id)]) update = update && r < 0;
      const bool next = std::any_of(program.states.begin(), program.states.end(),
                                    [id](const State& s) { return s.next == id; });
      update = update && next;
    }
    if (!update) continue;
    int place = -1;
    for (ValueId id : call.in) {
      if (id != absent) place = std::max(place, uses.writer[static_cast<size_t>(id)]);
    }
    // Behind everybody who reads what it writes over.
    for (int i : call.op->in_place) {
      if (i < 0 || call.in[static_cast<size_t>(i)] == absent) continue;
      for (int r : uses.readers[static_cast<size_t>(call.in[static_cast<size_t>(i)])])
        if (r != c) place = std::max(place, r);
    }
    if (place < 0 || place >= c) continue;
    behind[static_cast<size_t>(place)].push_back(c);
    moved[static_cast<size_t>(c)] = 1;
  }
  std::vector<OpCall> ops;
  for (int c = 0; c < count; ++c) {
    if (moved[static_cast<size_t>(c)] == 0) ops.push_back(program.ops[static_cast<size_t>(c)]);
    for (int update : behind[static_cast<size_t>(c)])
      ops.push_back(program.ops[static_cast<size_t>(update)]);
  }
  program.ops = std::move(ops);
}

}  // namespace hub
