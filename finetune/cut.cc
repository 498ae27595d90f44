#include "finetune/cut.h"

#include <algorithm>

#include "base/error.h"

namespace hub {
namespace {

/// Leaves only the calls that lead to the outputs, without going past `stop`.
std::vector<bool> keep_needed(Program& p, ValueId stop) {
  std::vector<bool> wanted(p.values.size());
  for (ValueId id : p.outputs) wanted[static_cast<size_t>(id)] = true;
  std::vector<OpCall> kept;
  for (size_t c = p.ops.size(); c-- > 0;) {
    OpCall& call = p.ops[c];
    const bool needed = std::any_of(call.out.begin(), call.out.end(), [&](ValueId id) {
      return id != absent && id != stop && wanted[static_cast<size_t>(id)];
    });
    if (!needed) continue;
    for (ValueId id : call.in)
      if (id != absent) wanted[static_cast<size_t>(id)] = true;
    kept.push_back(std::move(call));
  }
  p.ops.assign(std::make_move_iterator(kept.rbegin()), std::make_move_iterator(kept.rend()));
  for (size_t i = 0; i < p.values.size(); ++i)
    if (!wanted[i]) p.values[i].constant = {};
  return wanted;
}

}  // namespace

Program cut_before(const Program& program, ValueId value) {
  Program p = program;
  p.outputs = {value};
  const auto wanted = keep_needed(p, absent);
  std::erase_if(p.inputs, [&](ValueId id) { return !wanted[static_cast<size_t>(id)]; });
  return p;
}

Program cut_after(const Program& program, ValueId value) {
  Program p = program;
  const auto wanted = keep_needed(p, value);
  for (ValueId id : p.inputs) {
    if (wanted[static_cast<size_t>(id)])
      fail(Code::unsupported, "input '", p[id].name, "' reaches the outputs past '", p[value].name,
           "'");
  }
  p.inputs = {value};
  return p;
}

}  // namespace hub
