// Calls that compute the same from the same become one.
#include <map>

#include "runtime/op.h"
#include "runtime/passes/passes.h"

namespace hub {
namespace {

/// The same text for attributes that are the same; tensors and blocks are when they are one object.
std::string text_of(const Attrs& attrs) {
  std::string text;
  const auto add = [&](const void* bytes, size_t count) {
    text.append(reinterpret_cast<const char*>(&count), sizeof count);
    text.append(static_cast<const char*>(bytes), count);
  };
  const auto add_value = [&]<class T>(const T& v) {
    if constexpr (std::is_same_v<T, int64_t> || std::is_same_v<T, double>) {
      add(&v, sizeof v);
    } else if constexpr (std::is_same_v<T, std::string>) {
      add(v.data(), v.size());
    } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
      for (const std::string& s : v) add(s.data(), s.size());
    } else if constexpr (std::is_same_v<T, Tensor>) {
      const void* place = v.raw();
      const std::string spec = v.spec().str();
      add(&place, sizeof place);
      add(spec.data(), spec.size());
    } else if constexpr (std::is_same_v<T, BlockPtr>) {
      const void* place = v.get();
      add(&place, sizeof place);
    } else {
      add(v.data(), v.size() * sizeof v[0]);
    }
  };
  for (const auto& [name, value] : attrs.items()) {
    add(name.data(), name.size());
    text += static_cast<char>(value.index());
    std::visit(add_value, value);
  }
  return text;
}

}  // namespace

void share_calls(Program& program) {
  std::vector<ValueId> same(program.values.size());
  for (size_t i = 0; i < same.size(); ++i) same[i] = static_cast<ValueId>(i);
  std::vector<char> kept_value(program.values.size());
  for (ValueId id : program.outputs) kept_value[static_cast<size_t>(id)] = 1;
  for (const State& s : program.states)
    if (s.next != absent) kept_value[static_cast<size_t>(s.next)] = 1;
  std::map<std::tuple<const OpDef*, std::vector<ValueId>, size_t, std::string>, size_t> first;
  std::vector<OpCall> kept;
  for (OpCall& call : program.ops) {
    for (ValueId& id : call.in)
      if (id != absent) id = same[static_cast<size_t>(id)];
    const auto free = [&](ValueId id) {
      return id == absent || kept_value[static_cast<size_t>(id)] == 0;
    };
    bool can_go = !call.op->random;
    for (ValueId id : call.out) can_go = can_go && free(id);
    const auto [it, fresh] =
        first.try_emplace({call.op, call.in, call.out.size(), text_of(call.attrs)}, kept.size());
    if (fresh || !can_go) {
      kept.push_back(std::move(call));
      continue;
    }
    OpCall& earlier = kept[it->second];
    for (size_t k = 0; k < call.out.size(); ++k) {
      if (call.out[k] == absent) continue;
      if (earlier.out[k] == absent)
        earlier.out[k] = call.out[k];
      else
        same[static_cast<size_t>(call.out[k])] = earlier.out[k];
    }
  }
  program.ops = std::move(kept);
}

}  // namespace hub
