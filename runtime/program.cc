// Building a program and checking that it hangs together.
#include "runtime/program.h"

#include "base/error.h"
#include "runtime/op.h"

namespace hub {

namespace {

/// `name`, with "~1", "~2"… behind it when it is taken.
std::string free_name(const std::map<std::string, ValueId, std::less<>>& names, std::string name) {
  std::string candidate = name;
  for (int n = 1; names.contains(candidate); ++n) candidate = concat(name, "~", n);
  return candidate;
}

}  // namespace

ValueId Program::add_value(std::string name, Spec declared) {
  const auto id = static_cast<ValueId>(values.size());
  if (name.empty()) name = concat("%", id);
  name = free_name(names_, std::move(name));
  names_.emplace(name, id);
  values.push_back({std::move(name), std::move(declared), {}});
  return id;
}

void Program::rename(ValueId id, std::string name) {
  std::string& current = (*this)[id].name;
  if (name == current) return;
  name = free_name(names_, std::move(name));
  names_.erase(current);
  names_.emplace(name, id);
  current = std::move(name);
}

ValueId Program::add_input(std::string name, Spec declared) {
  const ValueId id = add_value(std::move(name), std::move(declared));
  inputs.push_back(id);
  return id;
}

ValueId Program::add_constant(std::string name, Tensor tensor) {
  const ValueId id = add_value(std::move(name), tensor.spec());
  (*this)[id].constant = std::move(tensor);
  return id;
}

ValueId Program::add_state(std::string name, Spec declared) {
  const ValueId id = add_value(std::move(name), std::move(declared));
  states.push_back({id, absent});
  return id;
}

ValueId Program::find(std::string_view name) const {
  const auto it = names_.find(name);
  return it == names_.end() ? absent : it->second;
}

namespace {

class Checker {
 public:
  explicit Checker(const Program& program) : program_(program), written_(program.values.size()) {}

  void run() {
    for (size_t i = 0; i < program_.values.size(); ++i)
      written_[i] = bool(program_.values[i].constant);
    for (ValueId id : program_.inputs) write(id, "the list of inputs");
    for (const State& s : program_.states) write(s.value, "the list of states");
    for (const OpCall& call : program_.ops) check(call);
    for (ValueId id : program_.outputs) read(id, "the list of outputs");
    for (const State& s : program_.states)
      if (s.next != absent) read(s.next, "the list of states");
  }

 private:
  void check(const OpCall& call) {
    if (!call.op) fail(Code::refused, "program: call '", call.name, "' has no operator");
    const OpDef& op = *call.op;
    const std::string where = concat(op.name, " '", call.name, "'");
    const auto in = static_cast<int>(call.in.size());
    if (in < op.min_inputs || (op.max_inputs >= 0 && in > op.max_inputs))
      fail(Code::refused, "program: ", where, " has ", in, " inputs, ", op.name, " takes ",
           op.min_inputs, op.max_inputs < 0 ? " or more" : concat(" to ", op.max_inputs));
    const auto out = static_cast<int>(call.out.size());
    if (out < 1 || (op.outputs >= 0 && out > op.outputs))
      fail(Code::refused, "program: ", where, " has ", out, " outputs, ", op.name, " gives ",
           op.outputs < 0 ? std::string("1 or more") : concat("1 to ", op.outputs));
    for (ValueId id : call.in)
      if (id != absent) read(id, where);
    for (ValueId id : call.out)
      if (id != absent) write(id, where);
    for (const auto& [name, attr] : call.attrs.items()) {
      const auto* block = std::get_if<BlockPtr>(&attr);
      if (block == nullptr) continue;
      if (op.run == nullptr || *block == nullptr)
        fail(Code::refused, "program: ", where, " owns no block '", name, "'");
      if (!(*block)->states.empty())
        fail(Code::refused, "program: ", where, ": block '", name, "' keeps states");
      within(concat(where, ": block '", name, "'"), [&, &b = **block] { b.check(); });
    }
  }

  size_t index(ValueId id, std::string_view where) const {
    if (id < 0 || static_cast<size_t>(id) >= program_.values.size())
      fail(Code::refused, "program: ", where, " names value ", id, " of ", program_.values.size());
    return static_cast<size_t>(id);
  }

  void read(ValueId id, std::string_view where) const {
    if (!written_[index(id, where)])
      fail(Code::refused, "program: ", where, " reads '", program_[id].name,
           "' before it is written");
  }

  void write(ValueId id, std::string_view where) {
    const size_t i = index(id, where);
    if (written_[i])
      fail(Code::refused, "program: ", where, " writes '", program_[id].name, "' a second time");
    written_[i] = true;
  }

  const Program& program_;
  std::vector<bool> written_;
};

}  // namespace

void Program::check() const { Checker(*this).run(); }

}  // namespace hub
