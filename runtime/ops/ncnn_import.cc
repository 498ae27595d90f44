// How layers of ncnn become operators. Parameters that a file leaves out have ncnn's defaults.
#include "runtime/ops/ncnn_import.h"

#include <cfloat>

#include "runtime/ops.h"
#include "runtime/ops/rules.h"

namespace hub {
namespace {

/// Weights as numbers of single precision.
Var weights(const ImportNode& n, size_t i) {
  const Var w = n.need(i);
  return w.constant().dtype() == DType::f32 ? w : cast_to(w, DType::f32);
}

Var number(const ImportNode& n, double value) {
  return constant(n.program, Tensor::scalar(static_cast<float>(value)));
}

Var leaky(Var x, double slope) {
  return slope == 0 ? unary("relu", x) : apply("leaky_relu", {x}, {{"alpha", slope}});
}

Var activated(const ImportNode& n, Var y) {
  const int64_t kind = n.attrs.i("activation", 0);
  const auto p = n.attrs.floats("activation_params");
  const size_t wanted = kind == 2 ? 1 : kind == 3 || kind == 6 ? 2 : 0;
  if (p.size() < wanted) n.refuse("its activation ", kind, " has ", p.size(), " parameters");
  switch (kind) {
    case 0: return y;
    case 1: return unary("relu", y);
    case 2: return leaky(y, p[0]);
    case 3: return clip(y, p[0], p[1]);
    case 4: return unary("sigmoid", y);
    case 5: return apply("mish", {y});
    case 6: return mul(y, apply("hard_sigmoid", {y}, {{"alpha", p[0]}, {"beta", p[1]}}));
    default: n.refuse("its activation is ", kind);
  }
}

/// A size of a window: at least `least`, and no larger than pictures get.
int64_t size_of_window(const ImportNode& n, const char* name, int64_t fallback, int64_t least) {
  constexpr int64_t most = 1 << 14;
  const int64_t size = n.attrs.i(name, fallback);
  if (size < least || size > most) n.refuse("its ", name, " is ", size);
  return size;
}

void conv_rule(ImportNode& n) {
  const auto at_least = [&](int64_t least, const char* name, int64_t fallback) {
    return size_of_window(n, name, fallback, least);
  };
  const int64_t kernel_w = at_least(1, "kernel_w", 0);
  const int64_t kernel_h = at_least(1, "kernel_h", kernel_w);
  const int64_t dilation_w = at_least(1, "dilation_w", 1), stride_w = at_least(1, "stride_w", 1);
  Conv how{.strides = {at_least(1, "stride_h", stride_w), stride_w},
           .pads = {},
           .dilations = {at_least(1, "dilation_h", dilation_w), dilation_w},
           .group = n.attrs.i("group", 1),
           .auto_pad = {}};
  if (const int64_t same = n.attrs.i("pad_left", 0); same == -233 || same == -234) {
    how.auto_pad = same == -233 ? "same_upper" : "same_lower";
  } else {
    const int64_t left = at_least(0, "pad_left", 0), top = at_least(0, "pad_top", left);
    how.pads = {top, left, at_least(0, "pad_bottom", top), at_least(0, "pad_right", left)};
  }
  const int64_t outputs = n.attrs.i("outputs"), size = n.attrs.i("size");
  const int64_t filter = kernel_w * kernel_h * outputs;
  if (outputs < 1 || size % filter != 0)
    n.refuse(size, " weights for ", outputs, " filters of ", kernel_h, "x", kernel_w);
  const Var w = reshape(weights(n, 1), {outputs, size / filter, kernel_h, kernel_w});
  n.out(0, activated(n, conv(n.need(0), w, n.in(2), how)));
}

void prelu(ImportNode& n) {
  const int64_t channel = n.attrs.i("slopes") == 1 ? 0 : 1;
  n.out(0, apply("prelu", {n.need(0), n.need(1)}, {{"channel", channel}}));
}

void pixel_shuffle(ImportNode& n) {
  const int64_t mode = n.attrs.i("mode", 0);
  if (mode != 0 && mode != 1) n.refuse("its mode is ", mode);
  n.out(0, apply("depth_to_space", {n.need(0)},
                 {{"blocksize", n.attrs.i("factor", 1)},
                  {"mode", std::string(mode == 0 ? "CRD" : "DCR")}}));
}

/// Nearest takes the pixel at i / scale; the others go by the middles of pixels.
void interp(ImportNode& n) {
  const int64_t kind = n.attrs.i("kind", 0);
  if (kind < 1 || kind > 3) n.refuse("its resize type is ", kind);
  const bool corners = n.attrs.i("align_corners", 0) != 0;
  constexpr const char* modes[] = {"nearest", "linear", "cubic"};
  Attrs attrs{{"axes", std::vector<int64_t>{2, 3}},
              {"mode", std::string(modes[kind - 1])},
              {"nearest_mode", std::string("floor")},
              {"coordinate_transformation_mode", std::string(kind == 1 ? "asymmetric"
                                                             : corners ? "align_corners"
                                                                       : "half_pixel")}};
  const int64_t height = n.attrs.i("height", 0), width = n.attrs.i("width", 0);
  if ((height == 0) != (width == 0)) n.refuse("only one side of its size is fixed");
  if (height != 0) {
    const Var sizes = constant(n.program, Tensor::ints({height, width}));
    return n.out(0, apply("resize", {n.need(0), {}, {}, sizes}, attrs));
  }
  const Var scales =
      constant(n.program, Tensor::floats({2}, {static_cast<float>(n.attrs.f("scale_h", 1)),
                                               static_cast<float>(n.attrs.f("scale_w", 1))}));
  n.out(0, apply("resize", {n.need(0), {}, scales}, attrs));
}

void binary(ImportNode& n) {
  const bool scalar = n.attrs.i("scalar", 0) != 0;
  if (n.inputs() != (scalar ? 1U : 2U)) n.refuse(n.inputs(), " inputs");
  Var a = n.need(0), b = scalar ? number(n, n.attrs.f("b", 0)) : n.need(1);
  constexpr const char* kinds[] = {"add", "sub", "mul", "div", "max",
                                   "min", "pow", "sub", "div", "pow"};
  const int64_t kind = n.attrs.i("kind", 0);
  if (kind < 0 || kind >= static_cast<int64_t>(std::size(kinds))) n.refuse("its kind is ", kind);
  if (kind >= 7) std::swap(a, b);
  n.out(0, apply(kinds[kind], {a, b}));
}

void eltwise(ImportNode& n) {
  const int64_t kind = n.attrs.i("kind", 0);
  if (kind < 0 || kind > 2) n.refuse("its kind is ", kind);
  const auto factors = n.attrs.floats("factors");
  if (!factors.empty() && (kind != 1 || factors.size() != n.inputs()))
    n.refuse(factors.size(), " factors for ", n.inputs(), " inputs");
  Var y;
  for (size_t i = 0; i < n.inputs(); ++i) {
    Var x = n.need(i);
    if (!factors.empty() && factors[i] != 1) x = mul(x, number(n, factors[i]));
    constexpr const char* kinds[] = {"mul", "add", "max"};
    y = y ? apply(kinds[kind], {y, x}) : x;
  }
  n.out(0, y);
}

/// Axes of ncnn count without the batch.
void concat_rule(ImportNode& n) {
  const int64_t axis = n.attrs.i("axis", 0);
  n.out(0, apply("concat", n.positional_, {{"axis", axis < 0 ? axis : axis + 1}}));
}

void same(ImportNode& n) {
  for (size_t i = 0; i < n.outputs(); ++i) n.out(i, n.need(0));
}

template <Literal op>
void one(ImportNode& n) {
  n.out(0, unary(op.view(), n.need(0)));
}

}  // namespace

const std::vector<Import>& ncnn_imports() {
  static const std::vector<Import> all = {
      {"ncnn:Split", same},
      {"ncnn:Noop", same},
      {"ncnn:Dropout", same},
      {"ncnn:Convolution", conv_rule},
      {"ncnn:ConvolutionDepthWise", conv_rule},
      {"ncnn:PReLU", prelu},
      {"ncnn:ReLU", [](ImportNode& n) { n.out(0, leaky(n.need(0), n.attrs.f("slope", 0))); }},
      {"ncnn:Clip",
       [](ImportNode& n) {
         n.out(0, clip(n.need(0), n.attrs.f("min", -FLT_MAX), n.attrs.f("max", FLT_MAX)));
       }},
      {"ncnn:Sigmoid", one<"sigmoid">},
      {"ncnn:TanH", one<"tanh">},
      {"ncnn:PixelShuffle", pixel_shuffle},
      {"ncnn:Interp", interp},
      {"ncnn:BinaryOp", binary},
      {"ncnn:Eltwise", eltwise},
      {"ncnn:Concat", concat_rule}};
  return all;
}

}  // namespace hub
