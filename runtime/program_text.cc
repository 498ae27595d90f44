// A program as text, for people: inputs, constants, calls and outputs, one a line.
#include <cstdio>

#include "base/error.h"
#include "runtime/op.h"
#include "runtime/program.h"

namespace hub {
namespace {

constexpr int64_t few = 8;  // so many numbers are still written out

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}
std::string number(int64_t value) { return std::to_string(value); }
std::string number(float value) { return number(static_cast<double>(value)); }
std::string number(const std::string& text) { return concat('"', text, '"'); }

template <class T>
std::string list(const std::vector<T>& values) {
  std::string s = "[";
  for (size_t i = 0; i < values.size(); ++i) s += concat(i == 0 ? "" : ", ", number(values[i]));
  return s + "]";
}

std::string tensor(const Tensor& t) {
  std::string s = t.spec().str();
  if (t.numel() == 0 || t.numel() > few) return s;
  switch (t.dtype()) {
    case DType::f32:
    case DType::f64:
    case DType::f16:
    case DType::bf16: return concat(s, " = ", list(t.to_floats()));
    case DType::string: {
      const auto values = t.values<std::string>();
      return concat(s, " = ", list(std::vector<std::string>(values.begin(), values.end())));
    }
    case DType::list:
    case DType::f8e4m3:
    case DType::f8e4m3fnuz:
    case DType::f8e5m2:
    case DType::f8e5m2fnuz: return s;
    default: return concat(s, " = ", list(t.to_ints()));
  }
}

std::string attr(const Attr& value) {
  struct Writer {
    std::string operator()(int64_t v) const { return number(v); }
    std::string operator()(double v) const { return number(v); }
    std::string operator()(const std::string& v) const { return number(v); }
    std::string operator()(const Tensor& v) const { return concat('(', tensor(v), ')'); }
    std::string operator()(const BlockPtr& v) const { return v->name; }
    std::string operator()(const std::vector<int64_t>& v) const { return list(v); }
    std::string operator()(const std::vector<double>& v) const { return list(v); }
    std::string operator()(const std::vector<std::string>& v) const { return list(v); }
  };
  return std::visit(Writer{}, value);
}

std::string names(const Program& program, const std::vector<ValueId>& ids) {
  std::string s;
  for (size_t i = 0; i < ids.size(); ++i)
    s += concat(i == 0 ? "" : ", ", ids[i] == absent ? std::string("-") : program[ids[i]].name);
  return s;
}

std::string declared(const Value& value) {
  return value.declared.dtype == DType::none ? std::string() : concat(": ", value.declared.str());
}

/// A block below the call that owns it: its text without the first line, moved to the right.
std::string indented(std::string_view name, const std::string& text) {
  std::string s = concat("  ", name, ":\n");
  for (size_t at = text.find('\n') + 1; at < text.size();) {
    const size_t end = text.find('\n', at) + 1;
    s += concat("    ", text.substr(at, end - at));
    at = end;
  }
  return s;
}

}  // namespace

std::string to_text(const Program& program) {
  std::string s = concat("program \"", program.name, "\"\n");
  for (ValueId id : program.inputs)
    s += concat("input ", program[id].name, declared(program[id]), "\n");
  for (const State& state : program.states)
    s += concat("state ", program[state.value].name, declared(program[state.value]), "\n");
  for (const Value& value : program.values)
    if (value.constant) s += concat("constant ", value.name, ": ", tensor(value.constant), "\n");
  for (const OpCall& call : program.ops) {
    s += concat(names(program, call.out), " = ", call.op->name, "(", names(program, call.in), ")");
    for (const auto& [name, value] : call.attrs.items())
      if (!std::holds_alternative<BlockPtr>(value)) s += concat(' ', name, '=', attr(value));
    s += '\n';
    for (const auto& [name, value] : call.attrs.items())
      if (const auto* block = std::get_if<BlockPtr>(&value)) s += indented(name, to_text(**block));
  }
  for (const State& state : program.states)
    if (state.next != absent)
      s += concat("next ", program[state.value].name, " = ", program[state.next].name, "\n");
  for (ValueId id : program.outputs)
    s += concat("output ", program[id].name, declared(program[id]), "\n");
  return s;
}

}  // namespace hub
