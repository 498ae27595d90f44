// A node being imported: its inputs and outputs by position (ONNX) or by slot (Paddle).
#include "runtime/import/node.h"

namespace hub {

Var ImportNode::need(size_t i) const {
  const Var v = in(i);
  if (!v) fail(Code::refused, type, " node '", name, "': input ", i, " is missing");
  return v;
}

Var ImportNode::in(std::string_view slot, size_t k) const {
  const auto it = slots_.find(slot);
  return it == slots_.end() || k >= it->second.size() ? Var{} : it->second[k];
}

Var ImportNode::need(std::string_view slot) const {
  const Var v = in(slot);
  if (!v) fail(Code::refused, type, " node '", name, "': input ", slot, " is missing");
  return v;
}

Vars ImportNode::all(std::string_view slot) const {
  const auto it = slots_.find(slot);
  return it == slots_.end() ? Vars{} : it->second;
}

Vars ImportNode::captured(std::string_view block) const {
  const auto it = captured_.find(block);
  return it == captured_.end() ? Vars{} : it->second;
}

const Tensor& ImportNode::known(Var v) const {
  if (!v)
    fail(Code::refused, type, " node '", name, "': an input that must be constant is missing");
  if (!v.constant())
    refuse("input '", program[v.id].name, "' is computed, only a constant can be imported here");
  return v.constant();
}

void ImportNode::out(size_t i, Var v) { out_positional_[i] = v; }
void ImportNode::out(std::string_view slot, Var v) { out_all(slot, {v}); }
void ImportNode::out_all(std::string_view slot, Vars vars) {
  out_slots_.insert_or_assign(std::string(slot), std::move(vars));
}

size_t ImportNode::wanted(std::string_view slot) const {
  const auto it = wanted_slots_.find(slot);
  return it == wanted_slots_.end() ? 0 : it->second;
}

Var ImportNode::offsets(std::string_view slot) const {
  const auto it = in_offsets_.find(slot);
  if (it == in_offsets_.end())
    fail(Code::refused, type, " node '", name, "': input ", slot,
         " must be sequences (a LoD), it carries no offsets");
  return it->second;
}

void ImportNode::set_offsets(std::string_view slot, Var offsets) {
  out_offsets_.insert_or_assign(std::string(slot), offsets);
}

void ImportNode::fail_node(const std::string& why) const {
  fail(Code::unsupported, type, " node '", name, "': ", why);
}

}  // namespace hub
