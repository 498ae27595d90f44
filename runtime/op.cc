// The list of operators, looking them up, running one, and appending one to a program.
#include "runtime/op.h"

#include <algorithm>
#include <map>

#include "base/error.h"
#include "runtime/block.h"
#include "runtime/ops/list.h"
#include "runtime/tape.h"

namespace hub {
namespace {

/// No single result may be larger; a bound on what a file can make us allocate.
constexpr size_t max_output_bytes = size_t{16} << 30;

struct Index {
  std::vector<const OpDef*> ops;
  std::map<std::string_view, const OpDef*> by_name;
  std::map<std::string_view, const Import*> imports;

  void add(const OpDef& op) {
    ops.push_back(&op);
    by_name.emplace(op.name, &op);
    for (const Import& i : op.imports) imports.emplace(i.name, &i);
  }
  Index() {
#define OP(name) add(name##_op);
#define OPS(name) \
  for (const OpDef& op : name##_ops) add(op);
#include "runtime/ops/ops.list"
#undef OP
#undef OPS
  }
};

const Index& op_index() {
  static const Index index;
  return index;
}

template <class Map>
auto found(const Map& map, std::string_view name) {
  auto it = map.find(name);
  return it == map.end() ? nullptr : it->second;
}

}  // namespace

std::span<const OpDef* const> all_ops() { return op_index().ops; }
const OpDef* find_op(std::string_view name) { return found(op_index().by_name, name); }
const Import* find_import(std::string_view name) { return found(op_index().imports, name); }

std::vector<std::string> importable(std::string_view format) {
  const std::string prefix = concat(format, ":");
  std::vector<std::string> names;
  for (const auto& [name, rule] : op_index().imports) {
    if (name.starts_with(prefix)) names.emplace_back(name.substr(prefix.size()));
  }
  return names;
}

const Spec& Infer::in(size_t i) const {
  if (!has(i)) fail(Code::refused, "input ", i, " is missing");
  return *in_[i];
}

const Tensor& Infer::value(size_t i) const {
  if (!has(i)) fail(Code::refused, "input ", i, " is missing");
  if (i >= values_.size() || values_[i] == nullptr) throw ValueUnknown{};
  return *values_[i];
}

std::vector<Spec> infer_outputs(const OpDef& op, const Infer& in) {
  return within(op.name, [&] {
    const auto n = static_cast<int>(in.size());
    if (n < op.min_inputs || (op.max_inputs >= 0 && n > op.max_inputs)) {
      fail(Code::refused, n, " inputs were given, ", op.min_inputs, " to ", op.max_inputs,
           " are wanted");
    }
    auto specs = op.infer(in);
    for (const Spec& s : specs) {
      if (const size_t bytes = bytes_of(s); bytes > max_output_bytes) {
        fail(Code::refused, "the result ", s.str(), " would take ", bytes, " bytes; the most is ",
             max_output_bytes);
      }
    }
    return specs;
  });
}

std::vector<Tensor> run_reference(const OpDef& op, const Attrs& attrs,
                                  std::span<const Tensor* const> in) {
  if (op.run != nullptr) return within(op.name, [&] { return op.run(attrs, in, run_plainly); });
  std::vector<Spec> specs(in.size());
  std::vector<const Spec*> spec_ptrs(in.size());
  for (size_t i = 0; i < in.size(); ++i) {
    if (in[i] == nullptr) continue;
    specs[i] = in[i]->spec();
    spec_ptrs[i] = &specs[i];
  }
  std::vector<Tensor> out;
  for (const Spec& s : infer_outputs(op, Infer(attrs, spec_ptrs, in)))
    out.emplace_back(s.dtype, s.shape);
  std::vector<Tensor*> out_ptrs;
  for (Tensor& t : out) out_ptrs.push_back(&t);
  within(op.name, [&] { op.forward({attrs, in, out_ptrs}); });
  return out;
}

Vars apply(const OpDef& op, const Vars& in, Attrs attrs, size_t outputs, std::string name) {
  Program* program = nullptr;
  OpCall call;
  for (const Var& v : in) {
    if (v && program == nullptr) program = v.program;
    call.in.push_back(v ? v.id : absent);
  }
  if (program == nullptr) fail(Code::refused, "operator '", op.name, "' was given no input");
  while (!call.in.empty() && call.in.back() == absent) call.in.pop_back();
  call.op = &op;
  call.attrs = std::move(attrs);
  call.name = std::move(name);
  Vars out;
  for (size_t i = 0; i < outputs; ++i) {
    out.push_back({program, program->add_value({})});
    call.out.push_back(out.back().id);
  }
  program->ops.push_back(std::move(call));
  if (Tape* tape = program->tape.tape) tape->run(OpCall(program->ops.back()));
  return out;
}

Var apply(std::string_view op, const Vars& in, Attrs attrs) {
  const OpDef* def = find_op(op);
  if (def == nullptr) fail(Code::unsupported, "there is no operator '", op, "'");
  return apply(*def, in, std::move(attrs))[0];
}

Var constant(Program& program, Tensor tensor, std::string name) {
  return {&program, program.add_constant(std::move(name), std::move(tensor))};
}

}  // namespace hub
