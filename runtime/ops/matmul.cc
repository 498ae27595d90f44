// Matrix products: NumPy's matmul with transposed operands, a bias and what was fused behind it.
#include <limits>

#include "runtime/ops/gemm.h"
#include "runtime/ops/grad.h"
#include "runtime/ops/nn.h"
#include "runtime/ops/post.h"
#include "runtime/ops/rules.h"

namespace hub {
namespace {

using MatmulTypes = decltype(Floats{} + Types<int32_t, int64_t, uint32_t, uint64_t>{});

/// One operand as matrices [rows, cols], after its transpose.
struct Operand {
  Shape batch;
  int64_t rows, cols, row_step, col_step;
  bool vector;

  Operand(const Shape& s, bool transposed, bool left) : vector(s.rank() == 1) {
    if (vector) {
      rows = left ? 1 : s[0];
      cols = left ? s[0] : 1;
      row_step = col_step = 1;
      return;
    }
    for (size_t d = 0; d + 2 < s.rank(); ++d) batch.push_back(s[d]);
    rows = s[s.rank() - 2];
    cols = row_step = s.back();
    col_step = 1;
    if (transposed) {
      std::swap(rows, cols);
      std::swap(row_step, col_step);
    }
  }
};

struct Product {
  Operand a, b;
  Shape batch, y;

  Product(const Attrs& attrs, const Shape& x, const Shape& w)
      : a(x, attrs.i("trans_a", 0) != 0, true), b(w, attrs.i("trans_b", 0) != 0, false) {
    if (a.cols != b.rows)
      fail(Code::refused, "matrices ", x.str(), " and ", w.str(), " do not fit");
    batch = y = broadcast(a.batch, b.batch);
    if (!a.vector) y.push_back(a.rows);
    if (!b.vector) y.push_back(b.cols);
  }
};

std::vector<Spec> infer_matmul(const Infer& infer) {
  check_type(infer, 0, MatmulTypes{});
  check_same_type(infer, 0, 1);
  const Spec& a = infer.in(0);
  if (a.shape.rank() == 0 || infer.in(1).shape.rank() == 0)
    fail(Code::refused, "a matrix product with a single number");
  const Product p(infer.attrs, a.shape, infer.in(1).shape);
  const Spec y{a.dtype, p.y};
  want(infer, 2, {a.dtype, {p.b.cols}});
  want(infer, 3, y);
  check_post(infer.attrs, y, infer.has(3));
  return {y};
}

/// Integers wrap.
template <class T>
using wrapping_t = typename std::conditional_t<std::is_integral_v<T>, std::make_unsigned<T>,
                                               std::type_identity<T>>::type;

template <class T>
void matmul(const Call& call) {
  const Product p(call.attrs, call.x(0).shape(), call.x(1).shape());
  const int64_t m = p.a.rows;
  const int64_t n = p.b.cols;
  const int64_t k = p.a.cols;
  const auto alpha = convert<T>(call.attrs.f("alpha", 1));
  const T* bias = call.has(2) ? call.x(2).data<T>() : nullptr;
  auto product = [&](const T* a, const T* b, T* c) {
    parallel(m, 16, [&](int64_t begin, int64_t end) {
      gemm(end - begin, n, k, {a + begin * p.a.row_step, p.a.row_step, p.a.col_step},
           {b, p.b.row_step, p.b.col_step}, c + begin * n, n);
      using W = wrapping_t<T>;
      for (int64_t i = begin * n; alpha != 1 && i < end * n; ++i)
        c[i] = static_cast<T>(static_cast<W>(c[i]) * static_cast<W>(alpha));
      for (int64_t i = begin; bias != nullptr && i < end; ++i) {
        for (int64_t j = 0; j < n; ++j)
          c[i * n + j] = static_cast<T>(static_cast<W>(c[i * n + j]) + static_cast<W>(bias[j]));
      }
    });
  };
  Walk<2> walk{p.batch,
               {broadcast_strides(p.a.batch, p.batch), broadcast_strides(p.b.batch, p.batch)}};
  each_row(walk,
           [&](int64_t row, int64_t count, std::array<int64_t, 2> at, std::array<int64_t, 2> step) {
             for (int64_t i = 0; i < count; ++i) {
               product(call.x(0).data<T>() + (at[0] + i * step[0]) * m * k,
                       call.x(1).data<T>() + (at[1] + i * step[1]) * k * n,
                       call.y().data<T>() + (row + i) * m * n);
             }
           });
}

void forward_matmul(const Call& call) {
  // Products of unsigned numbers have the same bits as those of signed ones.
  switch (call.x(0).dtype()) {
    case DType::f64: matmul<double>(call); break;
    case DType::i32:
    case DType::u32: matmul<int32_t>(call); break;
    case DType::i64:
    case DType::u64: matmul<int64_t>(call); break;
    default: matmul<float>(call);
  }
  apply_posts(call.attrs, call.y(), call.has(3) ? &call.x(3) : nullptr);
}

/// The number of dimensions of a parameter or declared value; -1 when nothing says it.
int rank_of(Var v) {
  const Value& value = (*v.program)[v.id];
  if (value.constant) return static_cast<int>(value.constant.shape().rank());
  return value.declared.dtype == DType::none ? -1 : static_cast<int>(value.declared.shape.rank());
}

void grad_matmul(Grad& g) {
  if (g.attrs.has("post"))
    fail(Code::unsupported, "the gradient of a matrix product with something fused behind it");
  const bool trans_a = g.attrs.i("trans_a", 0) != 0;
  const bool trans_b = g.attrs.i("trans_b", 0) != 0;
  const double alpha = g.attrs.f("alpha", 1);
  Var a = g.x(0), b = g.x(1), dy = g.dy();
  if (g.wants(2)) g.dx(2, sum_to(dy, g.x(2)));
  if (!trans_a && rank_of(b) == 2) {
    if (g.wants(0)) g.dx(0, matmul(dy, b, {}, false, !trans_b, alpha));
    if (!g.wants(1)) return;
    // One product of all rows, not one a batch and then their sum.
    const Attrs last{{"axis", int64_t{-1}}};
    const Var rows = apply("flatten", {a}, last), d_rows = apply("flatten", {dy}, last);
    g.dx(1, trans_b ? matmul(d_rows, rows, {}, true, false, alpha)
                    : matmul(rows, d_rows, {}, true, false, alpha));
    return;
  }
  if (rank_of(a) < 2 || rank_of(b) < 2) {
    auto view = [&](Var x, int64_t which) {
      return apply(
          "matmul_operand", {x, g.x(0), g.x(1)},
          {{"which", which}, {"trans_a", int64_t{trans_a}}, {"trans_b", int64_t{trans_b}}});
    };
    dy = view(dy, 2);
    a = view(a, 0);
    b = view(b, 1);
  }
  if (g.wants(0)) {
    const Var da = trans_a ? matmul(b, dy, {}, trans_b, true, alpha)
                           : matmul(dy, b, {}, false, !trans_b, alpha);
    g.dx(0, reshape_as(sum_to(da, a), g.x(0)));
  }
  if (g.wants(1)) {
    const Var db = trans_b ? matmul(dy, a, {}, true, trans_a, alpha)
                           : matmul(a, dy, {}, !trans_a, false, alpha);
    g.dx(1, reshape_as(sum_to(db, b), g.x(1)));
  }
}

/// matmul_operand(x, a, b) trans_a, trans_b, which: x with the dimensions of 1 that matmul(a, b)
/// imagines around vectors; x is like a (which 0), b (1) or the product (2).
std::vector<Spec> infer_operand(const Infer& infer) {
  const int64_t which = infer.attrs.i("which");
  const Product p(infer.attrs, infer.in(1).shape, infer.in(2).shape);
  if (which == 0 || which == 1) need(infer, 0, infer.in(which == 0 ? 1 : 2));
  if (which == 2) need(infer, 0, {infer.in(0).dtype, p.y});
  const Operand& like = which == 0 ? p.a : p.b;
  Shape y = which == 2 ? p.batch : like.batch;
  const bool transposed = infer.attrs.i(which == 0 ? "trans_a" : "trans_b", 0) != 0 && which != 2;
  y.push_back(which == 2 ? p.a.rows : transposed ? like.cols : like.rows);
  y.push_back(which == 2 ? p.b.cols : transposed ? like.rows : like.cols);
  return {{infer.in(0).dtype, y}};
}
void forward_operand(const Call& call) {
  std::copy_n(call.x(0).data<std::byte>(), call.x(0).bytes(), call.y().data<std::byte>());
}
void grad_operand(Grad& g) { g.dx(0, reshape_as(g.dy(), g.x(0))); }

void onnx_matmul(ImportNode& n) { n.out(0, apply("matmul", {n.need(0), n.need(1)})); }

/// alpha · A' · B' + beta · C; C broadcasts. Only a constant C of one row is known to be a bias.
void onnx_gemm(ImportNode& n) {
  Attrs attrs{{"trans_a", n.attrs.i("transA", 0)},
              {"trans_b", n.attrs.i("transB", 0)},
              {"alpha", n.attrs.f("alpha", 1)}};
  const Var a = n.need(0);
  const Var b = n.need(1);
  Var c = n.in(2);
  const double beta = n.attrs.f("beta", 1);
  if (c && beta != 1) c = apply("mul", {c, scalar_like(n, c, beta)});
  bool bias = false;
  if (c && c.constant() && b.constant() && b.constant().shape().rank() == 2) {
    const int64_t columns = b.constant().shape()[n.attrs.i("transB", 0) != 0 ? 0 : 1];
    const Shape& shape = c.constant().shape();
    bias = shape.rank() > 0 && shape.back() == columns && shape.numel() == columns;
    if (bias && shape.rank() > 1) c = constant(n.program, c.constant().reshaped({columns}));
  }
  Var y = apply("matmul", bias ? Vars{a, b, c} : Vars{a, b}, attrs);
  if (c && !bias) y = apply("add", {y, c});
  n.out(0, y);
}

/// The first `count` dimensions of x's shape, or those from `count` on, as an int64 list.
Var part_of_shape(ImportNode& n, Var x, int64_t count, bool front) {
  const Var shape = apply("shape", {x});
  const int64_t end = std::numeric_limits<int64_t>::max();
  return apply("slice", {shape, ints(n, {front ? 0 : count}), ints(n, {front ? count : end})});
}

/// Both operands as matrices; the result gets the leading dimensions of X and the trailing ones of
/// Y.
void paddle_mul(ImportNode& n) {
  const int64_t x_cols = n.attrs.i("x_num_col_dims", 1);
  const int64_t y_cols = n.attrs.i("y_num_col_dims", 1);
  const Var x = n.need("X");
  const Var y = n.need("Y");
  const bool plain = y_cols == 1 && y.constant() && y.constant().shape().rank() == 2;
  const Var right = plain ? y : apply("flatten", {y}, {{"axis", y_cols}});
  const Var product = apply("matmul", {apply("flatten", {x}, {{"axis", x_cols}}), right});
  if (x_cols == 1 && plain) return n.out("Out", product);
  const Var tail = plain ? ints(n, {y.constant().shape()[1]}) : part_of_shape(n, y, y_cols, false);
  const Var shape =
      apply("concat", {part_of_shape(n, x, x_cols, true), tail}, {{"axis", int64_t{0}}});
  n.out("Out", apply("reshape", {product, shape}, {{"allowzero", int64_t{1}}}));
}

void paddle_matmul(ImportNode& n) {
  const bool v2 = n.type == "matmul_v2";
  n.out("Out", apply("matmul", {n.need("X"), n.need("Y")},
                     {{"trans_a", n.attrs.i(v2 ? "trans_x" : "transpose_X", 0)},
                      {"trans_b", n.attrs.i(v2 ? "trans_y" : "transpose_Y", 0)},
                      {"alpha", v2 ? 1.0 : n.attrs.f("alpha", 1)}}));
}

void paddle_mv(ImportNode& n) { n.out("Out", apply("matmul", {n.need("X"), n.need("Vec")})); }

}  // namespace

extern const OpDef matmul_op = {.name = "matmul",
                                .min_inputs = 2,
                                .max_inputs = 4,
                                .infer = infer_matmul,
                                .forward = widened<forward_matmul>,
                                .grad = grad_matmul,
                                .imports = {{"onnx:MatMul", onnx_matmul},
                                            {"onnx:Gemm", onnx_gemm},
                                            {"paddle:mul", paddle_mul},
                                            {"paddle:matmul", paddle_matmul},
                                            {"paddle:matmul_v2", paddle_matmul},
                                            {"paddle:bmm", paddle_matmul},
                                            {"paddle:mv", paddle_mv}}};

extern const OpDef matmul_operand_op = {.name = "matmul_operand",
                                        .min_inputs = 3,
                                        .max_inputs = 3,
                                        .spec_only = 0b110,
                                        .infer = infer_operand,
                                        .forward = forward_operand,
                                        .grad = grad_operand,
                                        .settings = 0b110};

}  // namespace hub
