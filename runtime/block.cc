#include "runtime/block.h"

#include "base/error.h"
#include "runtime/passes/passes.h"
#include "runtime/session.h"

namespace hub {

Blocks::Blocks(std::string device) : device_(std::move(device)) {}
Blocks::~Blocks() = default;

std::vector<Tensor> Blocks::run(const BlockPtr& block, const std::vector<Tensor>& inputs) {
  return session_of(block).run(inputs);
}

namespace {

/// The session of a block for all plans, whose weights are there once. Whoever has a session has
/// its block too, so an address that is found here is still that block's.
std::shared_ptr<Session> shared_session(const Program& block, const std::string& device) {
  static std::mutex mutex;
  static std::map<std::pair<const Program*, std::string>, std::weak_ptr<Session>> known;
  const std::lock_guard lock(mutex);
  std::erase_if(known, [](const auto& entry) { return entry.second.expired(); });
  auto& entry = known[{&block, device}];
  std::shared_ptr<Session> session = entry.lock();
  if (!session) {
    session = std::make_shared<Session>(
        block, SessionOptions{.device = device, .pack_file = {}, .states = {}});
    entry = session;
  }
  return session;
}

}  // namespace

Session& Blocks::session_of(const BlockPtr& block) {
  const std::lock_guard lock(mutex_);
  auto& session = sessions_[block];
  if (!session) session = shared_session(*block, device_);
  return *session;
}

RunBlock Blocks::runner() {
  return [this](const BlockPtr& block, const std::vector<Tensor>& inputs) {
    return run(block, inputs);
  };
}

void run_call(const OpCall& call, std::vector<Tensor>& values, const RunBlock& run) {
  std::vector<const Tensor*> in;
  for (ValueId id : call.in)
    in.push_back(id == absent ? nullptr : &values[static_cast<size_t>(id)]);
  auto out = within(concat("call '", call.name, "'"), [&] {
    return call.op->run != nullptr ? call.op->run(call.attrs, in, run)
                                   : run_reference(*call.op, call.attrs, in);
  });
  if (out.size() < call.out.size())
    fail(Code::refused, "call '", call.name, "': ", call.op->name, " gives ", out.size(),
         " outputs; ", call.out.size(), " are wanted");
  for (size_t i = 0; i < call.out.size(); ++i)
    if (call.out[i] != absent) values[static_cast<size_t>(call.out[i])] = std::move(out[i]);
}

void run_calls(const Program& program, std::vector<Tensor>& values, const RunBlock& run) {
  for (const OpCall& call : program.ops) run_call(call, values, run);
}

std::vector<Tensor> run_plainly(const BlockPtr& block, const std::vector<Tensor>& inputs) {
  if (!block->states.empty())
    fail(Code::refused, "a block with the state '", (*block)[block->states[0].value].name,
         "', whose numbers nobody holds");
  std::vector<Tensor> values;
  for (const Value& v : block->values) values.push_back(v.constant);
  for (size_t i = 0; i < inputs.size(); ++i)
    values[static_cast<size_t>(block->inputs.at(i))] = inputs[i];
  run_calls(*block, values, run_plainly);
  std::vector<Tensor> out;
  for (ValueId id : block->outputs) out.push_back(values[static_cast<size_t>(id)]);
  return out;
}

void take_inputs(std::span<const Tensor* const> in, size_t first, std::vector<Tensor>& inputs) {
  for (size_t i = first; i < in.size(); ++i) {
    if (in[i] == nullptr) fail(Code::refused, "input ", i, " is missing");
    inputs.push_back(*in[i]);
  }
}

std::optional<std::vector<Spec>> block_specs(const Program& block,
                                             const std::vector<Spec>& inputs) {
  Program copy = block;
  std::vector<Spec> all;
  if (!specialize(copy, inputs, all)) return {};
  std::vector<Spec> out;
  for (ValueId id : copy.outputs) out.push_back(all[static_cast<size_t>(id)]);
  return out;
}

Vars append_block(Program& into, const Program& block, const Vars& in) {
  std::vector<ValueId> here(block.values.size(), absent);
  for (size_t i = 0; i < in.size(); ++i) here[static_cast<size_t>(block.inputs.at(i))] = in[i].id;
  for (size_t i = 0; i < block.values.size(); ++i) {
    const Value& v = block.values[i];
    if (v.constant) here[i] = into.add_constant(v.name, v.constant);
  }
  for (OpCall call : block.ops) {
    for (ValueId& id : call.in)
      if (id != absent) id = here[static_cast<size_t>(id)];
    for (ValueId& id : call.out)
      if (id != absent) id = here[static_cast<size_t>(id)] = into.add_value({});
    into.ops.push_back(std::move(call));
  }
  Vars out;
  for (ValueId id : block.outputs) out.push_back({&into, here[static_cast<size_t>(id)]});
  return out;
}

Var zeros_like(Var like) {
  Tensor zero(DType::f64, {});
  *zero.data<double>() = 0;
  const Var typed = apply("cast", {constant(*like.program, std::move(zero)), like});
  return apply("expand_as", {typed, like});
}

namespace {

/// Whether any call of the block reads value `id` as a setting.
bool is_setting(const Program& block, ValueId id) {
  for (const OpCall& call : block.ops)
    for (size_t i = 0; i < call.in.size(); ++i)
      if (call.in[i] == id && (call.op->settings >> i & 1) != 0) return true;
  return false;
}

/// Makes the block's parameters its last inputs.
std::vector<Value> take_parameters(Program& block) {
  std::vector<Value> taken;
  for (size_t i = 0; i < block.values.size(); ++i) {
    Value& v = block.values[i];
    const DType type = v.constant.dtype();
    if ((type != DType::f32 && type != DType::f64) || v.constant.shape().rank() == 0 ||
        v.name.starts_with('%') || is_setting(block, static_cast<ValueId>(i)))
      continue;
    taken.push_back(v);
    v.constant = {};
    block.inputs.push_back(static_cast<ValueId>(i));
  }
  return taken;
}

}  // namespace

void lift_constants(Program& program) {
  std::map<const void*, ValueId> lifted;  // blocks that read one constant go on sharing it
  for (size_t c = 0; c < program.ops.size(); ++c) {
    if (program.ops[c].op->run == nullptr) continue;
    OpCall call = program.ops[c];
    std::vector<std::pair<std::string, std::shared_ptr<Program>>> blocks;
    for (const auto& [name, attr] : call.attrs.items())
      if (const auto* block = std::get_if<BlockPtr>(&attr))
        blocks.emplace_back(name, std::make_shared<Program>(**block));
    // The operator gives every block what it reads behind its own inputs: a parameter of one block
    // is an input of all.
    for (auto& [name, block] : blocks) {
      lift_constants(*block);
      for (const Value& v : take_parameters(*block)) {
        auto [it, fresh] = lifted.try_emplace(v.constant.raw(), absent);
        if (fresh) it->second = program.add_constant(v.name, v.constant);
        // An input that is cut off is there no more: fill up to where the block's inputs begin.
        call.in.resize(std::max(call.in.size(), call.op->name == "while" ? size_t{2} : size_t{1}),
                       absent);
        call.in.push_back(it->second);
        for (auto& [other_name, other] : blocks)
          if (other != block) other->add_input({}, {});
      }
    }
    for (auto& [name, block] : blocks) call.attrs.set(name, BlockPtr(block));
    program.ops[c] = std::move(call);
  }
}

}  // namespace hub
