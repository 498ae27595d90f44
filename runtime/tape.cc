#include "runtime/tape.h"

#include <algorithm>

#include "base/error.h"
#include "runtime/block.h"
#include "runtime/device/device.h"
#include "runtime/grad.h"

namespace hub {
namespace {

Tensor memory(size_t bytes) {
  return {DType::u8, {static_cast<int64_t>(std::max<size_t>(bytes, 1))}};
}

}  // namespace

std::vector<Tensor> run_call(Device& device, const OpCall& call,
                             std::span<const Tensor* const> in) {
  if (call.op->run != nullptr) {
    Blocks blocks{std::string(device.name())};
    return within(call.op->name, [&] { return call.op->run(call.attrs, in, blocks.runner()); });
  }
  std::vector<Operand> operands(in.size());
  std::vector<const Spec*> specs(in.size());
  for (size_t i = 0; i < in.size(); ++i) {
    if (in[i] == nullptr) continue;
    operands[i] = {in[i]->spec(), nullptr, nullptr, true};
    specs[i] = &operands[i].spec;
  }
  std::vector<Spec> out_specs = infer_outputs(*call.op, Infer(call.attrs, specs, in));
  if (out_specs.size() < call.out.size())
    fail(Code::refused, call.op->name, " gives ", out_specs.size(), " outputs; ", call.out.size(),
         " are wanted");
  const auto plain = [](const Spec* s) { return s == nullptr || is_plain(s->dtype); };
  if (!std::ranges::all_of(specs, plain) || !is_plain(out_specs[0].dtype))
    return run_reference(*call.op, call.attrs, in);
  out_specs.resize(call.out.size());
  const Prepared prepared = device.prepare(call, operands, out_specs);
  std::vector<Tensor> out;
  if (prepared.alias >= 0) {
    const Tensor& source = *in[static_cast<size_t>(prepared.alias)];
    return {Tensor(out_specs[0].dtype, out_specs[0].shape, source.owner(), source.raw())};
  }
  std::vector<Tensor> keep;
  Places places;
  for (size_t i = 0; i < in.size(); ++i) {
    const bool unread = in[i] == nullptr || (call.op->spec_only >> i & 1) != 0;
    if (unread || !prepared.in[i]) {
      places.in.push_back(unread ? nullptr : const_cast<void*>(in[i]->raw()));
      continue;
    }
    keep.push_back(memory(prepared.in[i]->bytes()));
    std::fill_n(keep.back().data<uint8_t>(), keep.back().bytes(), uint8_t{0});
    device.reorder(operands[i].spec, nullptr, in[i]->raw(), prepared.in[i], keep.back().raw())();
    places.in.push_back(keep.back().raw());
  }
  for (size_t i = 0; i < out_specs.size(); ++i) {
    out.emplace_back(out_specs[i].dtype, out_specs[i].shape);
    if (prepared.out[i]) keep.push_back(memory(prepared.out[i]->bytes()));
    places.out.push_back(prepared.out[i] ? keep.back().raw() : out.back().raw());
  }
  const Tensor scratch = memory(prepared.scratch);
  places.scratch = const_cast<void*>(scratch.raw());
  within(call.op->name, [&] { prepared.bind(places)(); });
  for (size_t i = 0; i < out_specs.size(); ++i) {
    if (prepared.out[i])
      device.reorder(out_specs[i], prepared.out[i], places.out[i], nullptr, out[i].raw())();
  }
  return out;
}

Tape::Tape(const std::string& device) : device_(open_device(device)) { program_.tape.tape = this; }

Var Tape::input(std::string name, Tensor numbers) {
  const ValueId id = program_.add_input(std::move(name), numbers.spec());
  numbers_.resize(program_.values.size());
  numbers_[static_cast<size_t>(id)] = std::move(numbers);
  return {&program_, id};
}

Var Tape::state(std::string name, Tensor numbers) {
  const ValueId id = program_.add_state(std::move(name), numbers.spec());
  numbers_.resize(program_.values.size());
  numbers_[static_cast<size_t>(id)] = std::move(numbers);
  return {&program_, id};
}

void Tape::becomes(Var state, Var next) {
  for (State& s : program_.states)
    if (s.value == state.id) s.next = next.id;
}

const Tensor& Tape::operator[](Var v) const {
  const Tensor& constant = program_[v.id].constant;
  return constant ? constant : numbers_.at(static_cast<size_t>(v.id));
}

void Tape::run(const OpCall& call) {
  std::vector<const Tensor*> in;
  for (ValueId id : call.in) {
    in.push_back(id == absent ? nullptr : &(*this)[{&program_, id}]);
  }
  auto out = run_call(device_, call, in);
  numbers_.resize(program_.values.size());
  for (size_t i = 0; i < call.out.size(); ++i) {
    if (call.out[i] != absent) numbers_[static_cast<size_t>(call.out[i])] = std::move(out.at(i));
  }
}

Vars Tape::gradients(Var loss, const Vars& wrt) { return append_backward(program_, loss, wrt); }

Program Tape::program(const Vars& outputs) const {
  Program p = program_;
  for (const Var& v : outputs) p.outputs.push_back(v.id);
  return p;
}

NamedTensors Tape::states() const {
  NamedTensors all;
  for (const State& s : program_.states) {
    const ValueId id = s.next == absent ? s.value : s.next;
    all.emplace(program_[s.value].name, (*this)[{const_cast<Program*>(&program_), id}]);
  }
  return all;
}

}  // namespace hub
