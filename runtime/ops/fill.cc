// Tensors out of numbers: fill(shape), every element the one of attribute `value` (float32 0 when
// absent); range(start, limit, delta), three scalars of one type. Constants of files are values of
// the program, not calls.
#include <cmath>

#include "runtime/ops/grad.h"
#include "runtime/ops/rules.h"

namespace hub {
namespace {

std::vector<Spec> infer_fill(const Infer& in) {
  DType dtype = DType::f32;
  if (in.attrs.has("value")) {
    const Tensor& value = in.attrs.tensor("value");
    if (value.numel() != 1)
      fail(Code::refused, "'value' is ", value.spec().str(), ": one number is wanted");
    dtype = value.dtype();
  }
  return {{dtype, Shape(ints_of(in, 0))}};
}

void forward_fill(const Call& call) {
  const Tensor value = call.attrs.has("value") ? call.attrs.tensor("value") : Tensor::scalar(0);
  copy_strided(value, 0, {}, call.y());
}

/// The number of steps of a range.
int64_t steps(const Tensor& start, const Tensor& limit, const Tensor& delta) {
  double count = 0;
  dispatch(Numbers{}, start.dtype(), [&]<class T>() {
    const auto by = static_cast<double>(*delta.data<T>());
    if (by == 0) fail(Code::refused, "a range with a step of 0");
    count = std::ceil(
        (static_cast<double>(*limit.data<T>()) - static_cast<double>(*start.data<T>())) / by);
  });
  if (!(count > 0)) return 0;
  if (count > 0x1p40) fail(Code::refused, "a range of ", count, " numbers");
  return static_cast<int64_t>(count);
}

std::vector<Spec> infer_range(const Infer& in) {
  check_type(in, 0, Numbers{});
  for (size_t i : {0, 1, 2}) {
    check_same_type(in, 0, i);
    if (in.in(i).shape.numel() != 1)
      fail(Code::refused, "input ", i, " is ", in.in(i).str(), ": one number is wanted");
  }
  return {{in.in(0).dtype, {steps(in.value(0), in.value(1), in.value(2))}}};
}

void forward_range(const Call& call) {
  const int64_t n = call.y().numel();
  dispatch(Numbers{}, call.y().dtype(), [&]<class T>() {
    using W = wide_t<T>;
    const auto start = static_cast<W>(*call.x(0).data<T>());
    const auto delta = static_cast<W>(*call.x(2).data<T>());
    T* y = call.y().data<T>();
    for (int64_t i = 0; i < n; ++i) y[i] = static_cast<T>(start + static_cast<W>(i) * delta);
  });
}

/// y[i] = start + i delta; the limit only says how many there are.
void grad_range(Grad& g) {
  const Var steps = div(sub(g.y(), g.x(0)), g.x(2));
  g.dx(0, reshape_as(apply("reduce_sum", {g.dy()}), g.x(0)));
  g.dx(2, reshape_as(apply("reduce_sum", {mul(g.dy(), steps)}), g.x(2)));
}

// ---- import rules ----

void onnx_constant_of_shape(ImportNode& n) { n.out(0, apply("fill", {n.need(0)}, n.attrs)); }

/// The number to fill with: `str_value` wins over `value` when it is not empty.
Tensor fill_value(const ImportNode& n) {
  const DType dtype = n.attrs.has("dtype") ? paddle_type(n, "dtype") : DType::f32;
  const auto text = n.attrs.s("str_value", "");
  double value = n.attrs.f("value", 0);
  if (!text.empty()) {
    char* end = nullptr;
    value = std::strtod(text.c_str(), &end);
    if (*end != '\0') n.refuse("str_value is '", text, "': a number is wanted");
  }
  return scalar_of(dtype, value);
}

void paddle_fill_constant(ImportNode& n) {
  Var shape = ints_slot(n, "ShapeTensorList", "ShapeTensor", "shape");
  if (!shape) shape = ints(n, {});  // no dimensions
  if (const Var value = n.in("ValueTensor")) return n.out("Out", apply("expand", {value, shape}));
  n.out("Out", apply("fill", {shape}, {{"value", fill_value(n)}}));
}

/// The shape of the attribute, with dimension output_dim_idx replaced by dimension input_dim_idx of
/// Input.
void paddle_fill_like_batch(ImportNode& n) {
  const auto shape = n.attrs.ints("shape");
  const auto rank = static_cast<int64_t>(shape.size());
  const int64_t to = n.attrs.i("output_dim_idx", 0);
  const int64_t from = n.attrs.i("input_dim_idx", 0);
  if (to < 0 || to >= rank)
    n.refuse("output_dim_idx is ", to, " for a shape of ", rank, " dimensions");
  const Var batch = apply("shape", {n.need("Input")}, {{"start", from}, {"end", from + 1}});
  const Var wanted = apply("concat",
                           {ints(n, {shape.begin(), shape.begin() + to}), batch,
                            ints(n, {shape.begin() + to + 1, shape.end()})},
                           {{"axis", int64_t{0}}});
  n.out("Out", apply("fill", {wanted}, {{"value", fill_value(n)}}));
}

/// fill_zeros_like and fill_any_like; a dtype of -1 is that of X.
void paddle_fill_like(ImportNode& n) {
  const Var x = n.need("X");
  const double value = n.attrs.f("value", 0);
  const bool same = n.attrs.i("dtype", -1) == -1;
  const Var one = same ? scalar_like(n, x, value)
                       : constant(n.program, scalar_of(paddle_type(n, "dtype"), value));
  n.out("Out", apply("expand", {one, apply("shape", {x})}));
}

/// Paddle leaves the numbers open; here they are zeros.
void paddle_empty(ImportNode& n) {
  const Var shape = ints_slot(n, "ShapeTensorList", "ShapeTensor", "shape");
  if (!shape) n.refuse("no shape is given");
  const DType dtype = n.attrs.has("dtype") ? paddle_type(n, "dtype") : DType::f32;
  n.out("Out", apply("fill", {shape}, {{"value", scalar_of(dtype, 0)}}));
}

void paddle_eye(ImportNode& n) {
  const int64_t rows = n.attrs.i("num_rows");
  const int64_t given = n.attrs.i("num_columns", -1);
  const int64_t columns = given < 0 ? rows : given;
  if (rows < 0 || rows > 1 << 14 || columns > 1 << 14)
    n.refuse(rows, " rows, ", columns, " columns");
  Tensor t(n.attrs.has("dtype") ? paddle_type(n, "dtype") : DType::f32, {rows, columns});
  dispatch(Everything{}, t.dtype(), [&]<class T>() {
    for (int64_t i = 0; i < t.numel(); ++i)
      t.data<T>()[i] = convert<T>(i / columns == i % columns ? 1.0 : 0.0);
  });
  n.out("Out", constant(n.program, std::move(t)));
}

/// num numbers from start to stop: the first half counted from the start, the rest from the stop.
void paddle_linspace(ImportNode& n) {
  auto number = [&](double v) { return constant(n.program, scalar_of(DType::f64, v)); };
  auto scalar = [&](const char* slot, DType dtype) {
    return reshape(cast_to(n.need(slot), dtype), {});
  };
  const Var start = scalar("Start", DType::f64);
  const Var stop = scalar("Stop", DType::f64);
  const Var count = scalar("Num", DType::f64);
  const Var i = apply("range", {number(0), count, number(1)});
  const Var steps = apply("max", {sub(count, number(1)), number(1)});
  const Var step = div(sub(stop, start), steps);
  const Var up = add(start, mul(i, step));
  const Var down = sub(stop, mul(sub(sub(count, number(1)), i), step));
  const Var first = apply("less", {i, unary("floor", div(count, number(2)))});
  const Var one = apply("equal", {count, number(1)});
  const Var all = apply("where", {one, start, apply("where", {first, up, down})});
  n.out("Out", cast_to(all, paddle_type(n, "dtype")));
}

void paddle_range(ImportNode& n) {
  n.out("Out", apply("range", {n.need("Start"), n.need("End"), n.need("Step")}));
}

/// Each input along a dimension of its own, repeated along the others.
void paddle_meshgrid(ImportNode& n) {
  n.need("X");
  const Vars all = n.all("X");
  Vars sizes;
  for (Var v : all) sizes.push_back(apply("size", {v}));
  for (Var& v : sizes) v = reshape(v, {1});
  const Var shape = apply("concat", sizes, {{"axis", int64_t{0}}});
  Vars out;
  for (size_t k = 0; k < all.size(); ++k) {
    std::vector<int64_t> own(all.size(), 1);
    own[k] = -1;
    out.push_back(apply("expand", {reshape(all[k], own), shape}));
  }
  n.out_all("Out", out);
}

/// A constant written into the program: the list for the type that is filled.
void paddle_assign_value(ImportNode& n) {
  n.out("Out", written_numbers(
                   n, paddle_type(n, "dtype"),
                   {"fp32_values", "fp64_values", "int32_values", "int64_values", "bool_values"}));
}

}  // namespace

extern const OpDef fill_op = {
    .name = "fill",
    .infer = infer_fill,
    .forward = forward_fill,
    .grad = zero_gradient,
    .imports = {{"onnx:ConstantOfShape", onnx_constant_of_shape},
                {"paddle:fill_constant", paddle_fill_constant},
                {"paddle:fill_constant_batch_size_like", paddle_fill_like_batch},
                {"paddle:fill_zeros_like", paddle_fill_like},
                {"paddle:fill_any_like", paddle_fill_like},
                {"paddle:fill_zeros_like2", paddle_fill_like},
                {"paddle:empty", paddle_empty},
                {"paddle:eye", paddle_eye},
                {"paddle:meshgrid", paddle_meshgrid},
                {"paddle:assign_value", paddle_assign_value}},
};

extern const OpDef range_op = {
    .name = "range",
    .min_inputs = 3,
    .max_inputs = 3,
    .infer = infer_range,
    .forward = forward_range,
    .grad = grad_range,
    .settings = 0b10,
    .imports = {{"onnx:Range", onnx_same<"range">},
                {"paddle:range", paddle_range},
                {"paddle:linspace", paddle_linspace}},
};

}  // namespace hub
