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

bool paddle_rank_zero(const ImportNode& n) { return n.version == 0 || n.version >= 2005000; }

Var paddle_scalar(const ImportNode& n, Var v) {
  return reshape(v, paddle_rank_zero(n) ? std::vector<int64_t>{} : std::vector<int64_t>{1});
}

const Tensor& known_number(const ImportNode& n, Var v) {
  const Tensor& t = n.known(v);
  if (t.numel() != 1) n.refuse("one number is wanted where ", t.spec().str(), " was found");
  return t;
}

Var cast_to(Var v, DType dtype) {
  return apply("cast", {v}, {{"to", std::string(name_of(dtype))}});
}

Shape shape_of(const ImportNode& n, Var v) {
  const Value& value = n.program[v.id];
  if (value.constant) return value.constant.shape();
  if (value.declared.dtype == DType::none)
    n.refuse("the dimensions of '", value.name, "' are not declared");
  return value.declared.shape;
}

bool channels_last(const ImportNode& n) {
  const std::string layout = n.attrs.s("data_format", n.attrs.s("data_layout", "NCHW"));
  for (const char* first : {"NCHW", "NCDHW", "NCL", "AnyLayout"})
    if (layout == first) return false;
  for (const char* last : {"NHWC", "NDHWC", "NLC"})
    if (layout == last) return true;
  n.refuse("the layout is '", layout, "'");
}

Var channels_to_front(Var x, size_t rank) {
  std::vector<int64_t> perm{0, static_cast<int64_t>(rank) - 1};
  for (size_t d = 1; d + 1 < rank; ++d) perm.push_back(static_cast<int64_t>(d));
  return transpose(x, perm);
}

Var channels_to_back(Var x, size_t rank) {
  std::vector<int64_t> perm{0};
  for (size_t d = 2; d < rank; ++d) perm.push_back(static_cast<int64_t>(d));
  perm.push_back(1);
  return transpose(x, perm);
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

Var written_numbers(ImportNode& n, DType dtype, std::initializer_list<const char*> names) {
  std::vector<double> numbers;
  for (const char* name : names)
    if (numbers.empty() && n.attrs.has(name)) numbers = n.attrs.floats(name);
  const Shape shape(n.attrs.ints("shape"));
  if (shape.numel() != static_cast<int64_t>(numbers.size()))
    n.refuse(numbers.size(), " values for ", shape.str());
  Tensor t(dtype, shape);
  dispatch(Everything{}, dtype, [&]<class T>() {
    for (size_t i = 0; i < numbers.size(); ++i) t.data<T>()[i] = convert<T>(numbers[i]);
  });
  return constant(n.program, std::move(t));
}

}  // namespace hub
