// The list of operators, looking them up, running one, and appending one to a program.
#include "runtime/op.h"

#include <algorithm>
#include <map>

#include "base/error.h"
#include "runtime/block.h"
#include "runtime/empty.h"
#include "runtime/ops/list.h"
#include "runtime/ops/objects.h"
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

/// What the characters of a result may take: numbers as text, or as much as was read for each.
size_t room_for_strings(std::span<const Tensor* const> in, const Tensor& out) {
  size_t each = 32;
  for (const Tensor* t : in)
    if (t != nullptr && t->dtype() == DType::string) each += longest(*t);
  const auto count = static_cast<size_t>(out.numel());
  return count == 0 || each <= SIZE_MAX / count ? count * each : SIZE_MAX;
}

void check_kind(const OpDef& op, const Spec& spec, std::string_view what, size_t i) {
  if ((spec.dtype == DType::string && !op.strings) || (spec.dtype == DType::list && !op.lists))
    fail(Code::unsupported, what, " ", i, " is ", spec.str(), "; it is not defined for that");
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
    for (size_t i = 0; i < in.size(); ++i)
      if (in.has(i) && (op.spec_only >> i & 1) == 0) check_kind(op, in.in(i), "input", i);
    auto specs = op.infer(in);
    for (size_t i = 0; i < specs.size(); ++i) check_kind(op, specs[i], "output", i);
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
  const auto out_specs = infer_outputs(op, Infer(attrs, spec_ptrs, in));
  for (const Spec& s : out_specs) {
    out.emplace_back(s.dtype, s.shape);
    if (s.dtype == DType::string)
      out.back() = charged(out.back(), room_for_strings(in, out.back()));
  }
  if (nothing_to_write(out_specs)) return out;
  std::vector<Tensor*> out_ptrs;
  for (Tensor& t : out) out_ptrs.push_back(&t);
  within(op.name, [&] { op.forward({attrs, in, out_ptrs}); });
  return out;
}

Vars apply(Program& program, const OpDef& op, const Vars& in, Attrs attrs, size_t outputs,
           std::string name) {
  OpCall call;
  for (const Var& v : in) call.in.push_back(v ? v.id : absent);
  while (!call.in.empty() && call.in.back() == absent) call.in.pop_back();
  call.op = &op;
  call.attrs = std::move(attrs);
  call.name = std::move(name);
  Vars out;
  for (size_t i = 0; i < outputs; ++i) {
    out.push_back({&program, program.add_value({})});
    call.out.push_back(out.back().id);
  }
  program.ops.push_back(std::move(call));
  if (Tape* tape = program.tape.tape) tape->run(OpCall(program.ops.back()));
  return out;
}

Vars apply(const OpDef& op, const Vars& in, Attrs attrs, size_t outputs, std::string name) {
  for (const Var& v : in)
    if (v) return apply(*v.program, op, in, std::move(attrs), outputs, std::move(name));
  fail(Code::refused, "operator '", op.name, "' was given no input");
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
