// deform_im2col(x, offset, mask?) kernel, strides, pads, dilations, offset_group: the windows of x
// [N, C, H, W] as columns [N, C * kh * kw, oh * ow], each element read, between elements, where
// offset [N, offset_group * kh * kw * 2, oh, ow] moves it, times mask. The convolution behind it is
// a product of matrices.
// deform_im2col_grad(x, offset, mask, dy) -> dx, doffset, dmask.
#include "runtime/ops/deform_conv.h"

#include "runtime/ops/grad.h"
#include "runtime/ops/nn.h"
#include "runtime/ops/rules.h"
#include "runtime/ops/window.h"

namespace hub {
namespace {

struct Deform {
  Window w;
  int64_t pictures, planes, height, width, block, windows, groups;

  Deform(const Attrs& attrs, const Shape& x)
      : w(conv_window(attrs, spatial(x), attrs.ints("kernel"))),
        pictures(x[0]),
        planes(x[1]),
        height(x[2]),
        width(x[3]),
        block(w.kernel[0] * w.kernel[1]),
        windows(Shape(w.out).numel()),
        groups(attrs.i("offset_group", 1)) {
    if (groups < 1 || planes > int64_t{1} << 31 || planes % groups != 0)
      fail(Code::refused, groups, " groups of offsets for ", planes, " channels");
  }

  /// f(picture, group, element of the block, window, offset of the movement down, of the mask) and
  /// where the window would read.
  template <class F>
  void each(F f) const {
    for (int64_t n = 0; n < pictures; ++n)
      for (int64_t g = 0; g < groups; ++g)
        for (int64_t b = 0; b < block; ++b)
          for (int64_t o = 0; o < windows; ++o) {
            const int64_t unit = (n * groups + g) * block + b;
            const double y = static_cast<double>(o / w.out[1] * w.strides[0] - w.pad_begin[0] +
                                                 b / w.kernel[1] * w.dilations[0]);
            const double x = static_cast<double>(o % w.out[1] * w.strides[1] - w.pad_begin[1] +
                                                 b % w.kernel[1] * w.dilations[1]);
            f(n, g, b, o, 2 * unit * windows + o, unit * windows + o, y, x);
          }
  }

  /// f(offset in a plane, weight, its slope down and right) for the elements around a place.
  template <class F>
  void around(double y, double x, F f) const {
    if (!(y > -1 && y < static_cast<double>(height) && x > -1 && x < static_cast<double>(width)))
      return;
    const double top = std::floor(y), left = std::floor(x);
    for (int k = 0; k < 4; ++k) {
      const int64_t r = static_cast<int64_t>(top) + k / 2;
      const int64_t c = static_cast<int64_t>(left) + k % 2;
      if (r < 0 || r >= height || c < 0 || c >= width) continue;
      const double wy = k / 2 == 0 ? 1 - (y - top) : y - top;
      const double wx = k % 2 == 0 ? 1 - (x - left) : x - left;
      f(r * width + c, wy * wx, (k / 2 == 0 ? -1 : 1) * wx, (k % 2 == 0 ? -1 : 1) * wy);
    }
  }
};

Spec columns(const Infer& in) {
  const Spec& x = real_input(in, 0, 4, 4);
  if (in.attrs.ints("kernel").size() != 2) fail(Code::refused, "'kernel' must hold two numbers");
  const Deform d(in.attrs, x.shape);
  if (d.block > 1 << 20) fail(Code::refused, "a window of ", d.block, " elements");
  const int64_t units = d.groups * d.block;
  need(in, 1, {x.dtype, {d.pictures, 2 * units, d.w.out[0], d.w.out[1]}});
  want(in, 2, {x.dtype, {d.pictures, units, d.w.out[0], d.w.out[1]}});
  return {x.dtype, {d.pictures, d.planes * d.block, d.windows}};
}

std::vector<Spec> infer_deform(const Infer& in) { return {columns(in)}; }

std::vector<Spec> infer_deform_grad(const Infer& in) {
  need(in, 3, columns(in));
  const Shape& o = in.in(1).shape;
  return {in.in(0), in.in(1), {in.in(0).dtype, {o[0], o[1] / 2, o[2], o[3]}}};
}

void forward_deform(const Call& call) {
  const Deform d(call.attrs, call.x(0).shape());
  const int64_t own = d.planes / d.groups, size = d.height * d.width;
  dispatch(Reals{}, call.y().dtype(), [&]<class T>() {
    const T* offset = call.x(1).data<T>();
    d.each([&](int64_t n, int64_t g, int64_t b, int64_t o, int64_t down, int64_t at, double y,
               double x) {
      const double mask = call.has(2) ? static_cast<double>(call.x(2).data<T>()[at]) : 1;
      for (int64_t c = g * own; c < (g + 1) * own; ++c) {
        const T* plane = call.x(0).data<T>() + (n * d.planes + c) * size;
        double sum = 0;
        d.around(y + offset[down], x + offset[down + d.windows],
                 [&](int64_t i, double weight, double, double) { sum += weight * plane[i]; });
        call.y().data<T>()[((n * d.planes + c) * d.block + b) * d.windows + o] =
            static_cast<T>(sum * mask);
      }
    });
  });
}

void forward_deform_grad(const Call& call) {
  const Deform d(call.attrs, call.x(0).shape());
  const int64_t own = d.planes / d.groups, size = d.height * d.width;
  dispatch(Reals{}, call.x(0).dtype(), [&]<class T>() {
    if (call.wants(0)) std::fill_n(call.y().data<T>(), call.y().numel(), T(0));
    const T* offset = call.x(1).data<T>();
    d.each([&](int64_t n, int64_t g, int64_t b, int64_t o, int64_t down, int64_t at, double y,
               double x) {
      const double mask = call.has(2) ? static_cast<double>(call.x(2).data<T>()[at]) : 1;
      double by_down = 0, by_right = 0, by_mask = 0;
      for (int64_t c = g * own; c < (g + 1) * own; ++c) {
        const int64_t plane = (n * d.planes + c) * size;
        const double dy = call.x(3).data<T>()[((n * d.planes + c) * d.block + b) * d.windows + o];
        d.around(y + offset[down], x + offset[down + d.windows],
                 [&](int64_t i, double weight, double slope_down, double slope_right) {
                   const double v = call.x(0).data<T>()[plane + i] * dy;
                   by_down += slope_down * v;
                   by_right += slope_right * v;
                   by_mask += weight * v;
                   if (call.wants(0))
                     call.y().data<T>()[plane + i] += static_cast<T>(weight * mask * dy);
                 });
      }
      if (call.wants(1)) {
        call.y(1).data<T>()[down] = static_cast<T>(by_down * mask);
        call.y(1).data<T>()[down + d.windows] = static_cast<T>(by_right * mask);
      }
      if (call.wants(2)) call.y(2).data<T>()[at] = static_cast<T>(by_mask);
    });
  });
}

void grad_deform(Grad& g) {
  const Vars d =
      apply(*find_op("deform_im2col_grad"), {g.x(0), g.x(1), g.x(2), g.dy()}, g.attrs, 3);
  for (size_t i = 0; i < g.size(); ++i) g.dx(i, d[i]);
}

void onnx_deform_conv(ImportNode& n) {
  auto kernel = n.attrs.ints("kernel_shape");
  if (kernel.empty()) {
    const Shape w = shape_of(n, n.need(1));
    if (w.rank() < 2) n.refuse("the weights are ", w.str());
    kernel.assign(w.begin() + 2, w.end());
  }
  if (kernel.size() != 2)
    n.refuse("its window has ", kernel.size(), " dimensions; 2 can be imported");
  Attrs attrs{{"offset_group", n.attrs.i("offset_group", 1)}};
  for (const char* name : {"strides", "pads", "dilations"})
    if (n.attrs.has(name)) attrs.set(name, n.attrs.ints(name));
  n.out(0, deform_conv(n.need(0), n.need(1), n.need(2), n.in(3), n.in(4), attrs, kernel,
                       n.attrs.i("group", 1)));
}

/// Both versions: the first has no Mask.
void paddle_deform_conv(ImportNode& n) {
  const Shape w = shape_of(n, n.need("Filter"));
  if (w.rank() != 4) n.refuse("the filter is ", w.str());
  Attrs attrs{{"offset_group", n.attrs.i("deformable_groups", 1)}};
  for (const char* name : {"strides", "dilations"})
    if (n.attrs.has(name)) attrs.set(name, n.attrs.ints(name));
  if (const auto p = n.attrs.ints("paddings"); p.size() == 2)
    attrs.set("pads", std::vector<int64_t>{p[0], p[1], p[0], p[1]});
  else if (!p.empty())
    n.refuse(p.size(), " paddings, wanted 2");
  n.out("Output", deform_conv(n.need("Input"), n.need("Filter"), n.need("Offset"), {}, n.in("Mask"),
                              attrs, {w[2], w[3]}, n.attrs.i("groups", 1)));
}

}  // namespace

Var deform_conv(Var x, Var w, Var offset, Var bias, Var mask, Attrs attrs,
                const std::vector<int64_t>& kernel, int64_t group) {
  attrs.set("kernel", kernel);
  const Var columns = apply("deform_im2col", {x, offset, mask}, std::move(attrs));
  // [N, group, C / group * block, windows] by [group, out / group, C / group * block].
  const Var grouped =
      apply("reshape", {columns, apply("concat", {ints_of(x, {0, group, -1}), length(columns, 2)},
                                       {{"axis", int64_t{0}}})});
  const Var rows = apply(
      "reshape", {w, apply("concat",
                           {ints_of(x, {group, -1}),
                            apply("reduce_prod", {apply("shape", {w}, {{"start", int64_t{1}}})})},
                           {{"axis", int64_t{0}}})});
  const Var product = matmul(rows, grouped);
  const Var to =
      apply("concat", {ints_of(x, {0, -1}), apply("shape", {offset}, {{"start", int64_t{2}}})},
            {{"axis", int64_t{0}}});
  const Var y = apply("reshape", {product, to});
  return bias ? add(y, reshape(bias, {-1, 1, 1})) : y;
}

extern const std::vector<OpDef> deform_conv_ops = {
    {.name = "deform_im2col",
     .min_inputs = 2,
     .max_inputs = 3,
     .infer = infer_deform,
     .forward = widened<forward_deform>,
     .grad = grad_deform,
     .imports = {{"paddle:deformable_conv", paddle_deform_conv},
                 {"paddle:deformable_conv_v1", paddle_deform_conv},
                 {"onnx:DeformConv", onnx_deform_conv}}},
    {.name = "deform_im2col_grad",
     .min_inputs = 4,
     .max_inputs = 4,
     .outputs = 3,
     .infer = infer_deform_grad,
     .forward = widened<forward_deform_grad>,
     .no_grad = "second derivatives of deform_im2col are not written"}};

}  // namespace hub
