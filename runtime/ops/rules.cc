#include "runtime/ops/rules.h"

#include "runtime/import/dtype.h"

namespace hub {

Tensor scalar_of(DType dtype, double value) {
  Tensor t(dtype, {});
  dispatch(Everything{}, dtype, [&]<class T>() { *t.data<T>() = convert<T>(value); });
  return t;
}

Var scalar_like(ImportNode& n, Var v, double value) {
  const Value& known = n.program[v.id];
  const DType dtype = known.constant ? known.constant.dtype() : known.declared.dtype;
  if (dtype != DType::none) return constant(n.program, scalar_of(dtype, value));
  return apply("cast", {constant(n.program, scalar_of(DType::f64, value)), v});
}

Var ints(ImportNode& n, const std::vector<int64_t>& values) {
  return constant(n.program, Tensor::ints(values));
}

Var ints_input(ImportNode& n, size_t i, std::string_view name) {
  if (const Var v = n.in(i)) return v;
  return n.attrs.has(name) ? ints(n, n.attrs.ints(name)) : Var{};
}

Var ints_slot(ImportNode& n, std::string_view list, std::string_view tensor,
              std::string_view attr) {
  if (Vars parts = n.all(list); !parts.empty()) {
    for (Var& p : parts) {
      p = apply("reshape", {apply("cast", {p}, {{"to", "int64"}}), ints(n, {1})});
    }
    return parts.size() == 1 ? parts[0] : apply("concat", parts, {{"axis", int64_t{0}}});
  }
  if (const Var v = n.in(tensor)) return v;
  return n.attrs.has(attr) ? ints(n, n.attrs.ints(attr)) : Var{};
}

namespace {

int type_code(const ImportNode& n, std::string_view name) {
  const int64_t code = n.attrs.i(name);
  if (code < 0 || code > 255)
    n.refuse("attribute '", name, "' is ", code, ": an element type is wanted");
  return static_cast<int>(code);
}

}  // namespace

DType onnx_type(const ImportNode& n, std::string_view name) {
  return onnx_dtype(type_code(n, name), concat(n.type, " node '", n.name, "'"));
}
DType paddle_type(const ImportNode& n, std::string_view name) {
  return paddle_dtype(type_code(n, name), concat(n.type, " operator '", n.name, "'"));
}

}  // namespace hub
