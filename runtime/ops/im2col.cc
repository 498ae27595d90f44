// Windows as columns, strides, pads, dilations as in window.h:
//   im2col(x, block): [N, C, spatial…] -> [N, C * elements of a block, windows]
//   col2im(columns, size, block): the way back into pictures of `size`, what overlaps added up.
#include "runtime/ops/grad.h"
#include "runtime/ops/nn.h"
#include "runtime/ops/rules.h"
#include "runtime/ops/window.h"

namespace hub {
namespace {

/// The windows over pictures of `size`.
struct Columns {
  std::vector<int64_t> size;
  Window w;
  int64_t block = 1, windows = 1;

  Columns(const Attrs& attrs, std::span<const int64_t> size, std::span<const int64_t> block_size)
      : size(size.begin(), size.end()), w(conv_window(attrs, size, block_size)) {
    block = Shape(w.kernel).numel();
    windows = Shape(w.out).numel();
    if (block > int64_t{1} << 31) fail(Code::refused, "a block of ", block, " elements");
  }

  /// f(offset in a column matrix of one plane, offset in the plane) for each element not in a pad.
  template <class F>
  void each(F f) const {
    for (int64_t b = 0; b < block; ++b) {
      for (int64_t o = 0; o < windows; ++o) {
        int64_t at = 0, scale = 1, rest_b = b, rest_o = o;
        bool inside = true;
        for (size_t d = size.size(); d-- > 0;) {
          const int64_t i = rest_o % w.out[d] * w.strides[d] - w.pad_begin[d] +
                            rest_b % w.kernel[d] * w.dilations[d];
          rest_o /= w.out[d];
          rest_b /= w.kernel[d];
          inside = inside && i >= 0 && i < size[d];
          at += i * scale;
          scale *= size[d];
        }
        if (inside) f(b * windows + o, at);
      }
    }
  }
};

std::vector<Spec> infer_im2col(const Infer& in) {
  const Shape& x = real_input(in, 0, 3).shape;
  const Columns c(in.attrs, spatial(x), ints_of(in, 1));
  if (x[1] > int64_t{1} << 31) fail(Code::refused, "input 0 is ", in.in(0).str());
  return {{in.in(0).dtype, {x[0], x[1] * c.block, c.windows}}};
}

void forward_im2col(const Call& call) {
  const Shape& x = call.x(0).shape();
  const Columns c(call.attrs, spatial(x), call.x(1).to_ints());
  const int64_t plane = x.numel(2, x.rank());
  dispatch(Floats{}, call.y().dtype(), [&]<class T>() {
    std::fill_n(call.y().data<T>(), call.y().numel(), T(0));
    for (int64_t p = 0; p < x[0] * x[1]; ++p) {
      T* to = call.y().data<T>() + p * c.block * c.windows;
      const T* from = call.x(0).data<T>() + p * plane;
      c.each([&](int64_t column, int64_t at) { to[column] = from[at]; });
    }
  });
}

void grad_im2col(Grad& g) {
  const Var size = apply("shape", {g.x(0)}, {{"start", int64_t{2}}});
  g.dx(0, apply("col2im", {g.dy(), size, g.x(1)}, g.attrs));
}

std::vector<Spec> infer_col2im(const Infer& in) {
  const Shape& x = real_input(in, 0, 3, 3).shape;
  const auto size = ints_of(in, 1);
  const Columns c(in.attrs, size, ints_of(in, 2));
  if (x[1] % c.block != 0 || x[2] != c.windows)
    fail(Code::refused, "columns are ", in.in(0).str(), " for ", c.windows, " blocks of ", c.block);
  Shape y{x[0], x[1] / c.block};
  for (int64_t n : size) y.push_back(n);
  return {{in.in(0).dtype, y}};
}

void forward_col2im(const Call& call) {
  const Shape& y = call.y().shape();
  const Columns c(call.attrs, call.x(1).to_ints(), call.x(2).to_ints());
  const int64_t plane = y.numel(2, y.rank());
  dispatch(Floats{}, call.y().dtype(), [&]<class T>() {
    using W = wide_t<T>;
    std::vector<W> sums(static_cast<size_t>(plane));
    for (int64_t p = 0; p < y[0] * y[1]; ++p) {
      std::fill(sums.begin(), sums.end(), W(0));
      const T* from = call.x(0).data<T>() + p * c.block * c.windows;
      c.each([&](int64_t column, int64_t at) {
        sums[static_cast<size_t>(at)] += static_cast<W>(from[column]);
      });
      for (int64_t i = 0; i < plane; ++i)
        call.y().data<T>()[p * plane + i] = static_cast<T>(sums[static_cast<size_t>(i)]);
    }
  });
}

void grad_col2im(Grad& g) { g.dx(0, apply("im2col", {g.dy(), g.x(2)}, g.attrs)); }

Attrs paddle_columns(const ImportNode& n, const char* pads) {
  Attrs attrs;
  if (const auto v = n.attrs.ints("strides"); !v.empty()) attrs.set("strides", v);
  if (const auto v = n.attrs.ints("dilations"); !v.empty()) attrs.set("dilations", v);
  if (const auto v = n.attrs.ints(pads); !v.empty()) attrs.set("pads", v);
  return attrs;
}

void paddle_unfold(ImportNode& n) {
  n.out("Y", apply("im2col", {n.need("X"), ints(n, n.attrs.ints("kernel_sizes"))},
                   paddle_columns(n, "paddings")));
}

/// The windows of each picture as a sequence.
void paddle_im2sequence(ImportNode& n) {
  if (n.in("Y")) n.refuse("pictures of real sizes of their own (Y)");
  const Var columns = apply("im2col", {n.need("X"), ints(n, n.attrs.ints("kernels"))},
                            paddle_columns(n, "paddings"));
  const Var rows = transpose(columns, {0, 2, 1});
  const Var to = apply("concat", {ints(n, {-1}), length(columns, 1)}, {{"axis", int64_t{0}}});
  n.out("Out", apply("reshape", {rows, to}));
  auto number = [&](double v) { return constant(n.program, scalar_of(DType::i64, v)); };
  const Var pictures = add(reshape(length(columns, 0), {}), number(1));
  n.set_offsets("Out", mul(apply("range", {number(0), pictures, number(1)}), length(columns, 2)));
}

}  // namespace

extern const std::vector<OpDef> im2col_ops = {
    {.name = "im2col",
     .min_inputs = 2,
     .max_inputs = 2,
     .infer = infer_im2col,
     .forward = forward_im2col,
     .grad = grad_im2col,
     .imports = {{"paddle:unfold", paddle_unfold}, {"paddle:im2sequence", paddle_im2sequence}}},
    {.name = "col2im",
     .min_inputs = 3,
     .max_inputs = 3,
     .infer = infer_col2im,
     .forward = forward_col2im,
     .grad = grad_col2im,
     .imports = {{"onnx:Col2Im", onnx_same<"col2im">}}}};

}  // namespace hub
