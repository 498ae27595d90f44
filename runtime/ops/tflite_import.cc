// How operators of TensorFlow Lite become ours. Convolutions, pools and their like want the
// channels in front: a transpose before and behind, which passes take out again.
#include "runtime/ops/tflite_import.h"

#include "runtime/ops.h"
#include "runtime/ops/rules.h"

namespace hub {
namespace {

constexpr size_t picture = 4;

Var front(Var x) { return channels_to_front(x, picture); }
Var back(Var x) { return channels_to_back(x, picture); }

Shape shape_in(const ImportNode& n, size_t i) { return Shape(n.attrs.ints(concat("shape", i))); }
Shape picture_in(const ImportNode& n, size_t i) {
  const Shape s = shape_in(n, i);
  if (s.rank() != picture) n.refuse("input ", i, " is ", s.str(), ", no picture");
  return s;
}

/// What ActivationFunctionType says is done to the result.
Var activated(const ImportNode& n, Var y) {
  switch (n.attrs.i("activation", 0)) {
    case 0: return y;
    case 1: return unary("relu", y);
    case 2: return clip(y, -1, 1);
    case 3: return clip(y, 0, 6);
    case 4: return unary("tanh", y);
    default: n.refuse("its activation is ", n.attrs.i("activation"));
  }
}

/// Padding SAME is 0, VALID 1.
void set_padding(const ImportNode& n, int64_t padding, Attrs& attrs) {
  if (padding != 0 && padding != 1) n.refuse("its padding is ", padding);
  attrs.set("auto_pad", std::string(padding == 0 ? "same_upper" : "valid"));
}

Attrs window(const ImportNode& n) {
  Attrs attrs{{"strides", std::vector<int64_t>{n.attrs.i("stride_h"), n.attrs.i("stride_w")}}};
  set_padding(n, n.attrs.i("padding"), attrs);
  return attrs;
}

void conv(ImportNode& n) {
  Attrs attrs = window(n);
  attrs.set("dilations", std::vector<int64_t>{n.attrs.i("dilation_h"), n.attrs.i("dilation_w")});
  const Shape x = picture_in(n, 0), w = picture_in(n, 1);
  const bool depthwise = n.type == "DEPTHWISE_CONV_2D";
  if (!depthwise && (w[3] < 1 || x[3] % w[3] != 0))
    n.refuse("a filter of ", w[3], " channels for ", x[3]);
  attrs.set("group", depthwise ? x[3] : x[3] / w[3]);
  // [1, H, W, C * multiplier] or [O, H, W, I].
  const Var filter = transpose(
      n.need(1), depthwise ? std::vector<int64_t>{3, 0, 1, 2} : std::vector<int64_t>{0, 3, 1, 2});
  const Var y = apply("conv", {front(n.need(0)), filter, n.in(2)}, attrs);
  n.out(0, back(activated(n, y)));
}

/// MediaPipe's transposed convolution with a bias. Its options are TfLiteTransposeConvParams: the
/// padding (1 SAME, 2 VALID), width and height of the stride.
void transposed_conv(ImportNode& n) {
  const auto options = n.attrs.ints("custom");
  if (options.size() < 3) n.refuse("its options are missing");
  const Shape x = picture_in(n, 0), w = picture_in(n, 1);
  const Shape y(n.attrs.ints("output_shape"));
  if (y.rank() != picture) n.refuse("its output is ", y.str(), ", no picture");
  const std::vector<int64_t> strides = {options[2], options[1]};
  std::vector<int64_t> pads(4, 0), more(2, 0);
  for (size_t d = 0; d < 2; ++d) {
    if (strides[d] < 1 || strides[d] > 64) n.refuse("its stride is ", strides[d]);
    const int64_t whole = (x[d + 1] - 1) * strides[d] + w[d + 1];
    const int64_t cut = std::max<int64_t>(whole - y[d + 1], 0);
    pads[d] = cut / 2;
    pads[d + 2] = cut - cut / 2;
    more[d] = std::max<int64_t>(y[d + 1] - whole, 0);
  }
  const Var filter = transpose(n.need(1), {3, 0, 1, 2});  // [O, H, W, I]
  n.out(0, back(apply("conv_transpose", {front(n.need(0)), filter, n.in(2)},
                      {{"strides", strides}, {"pads", pads}, {"output_padding", more}})));
}

template <Literal kind>
void pool(ImportNode& n) {
  Attrs attrs = window(n);
  attrs.set("kind", std::string(kind.view()));
  attrs.set("kernel", std::vector<int64_t>{n.attrs.i("filter_h"), n.attrs.i("filter_w")});
  n.out(0, back(activated(n, apply("pool", {front(n.need(0))}, attrs))));
}

void fully_connected(ImportNode& n) {
  const Shape w = shape_in(n, 1);
  if (w.rank() != 2 || n.attrs.i("format") != 0) n.refuse("weights of ", w.str());
  Var x = n.need(0);
  if (n.attrs.i("keep") == 0) x = reshape(x, {-1, w[1]});
  n.out(0, activated(n, matmul(x, n.need(1), n.in(2), false, true)));
}

template <Literal op>
void binary(ImportNode& n) {
  n.out(0, activated(n, apply(op.view(), {n.need(0), n.need(1)})));
}

template <Literal op>
void one(ImportNode& n) {
  n.out(0, unary(op.view(), n.need(0)));
}

void prelu(ImportNode& n) {
  const Shape x = shape_in(n, 0), slope = shape_in(n, 1);
  // A slope for each channel, [1, 1, C] in most files.
  if (x.rank() == picture && slope.numel() == x[3] && slope.rank() > 0 && slope.back() == x[3]) {
    const Var flat = reshape(n.need(1), {x[3]});
    return n.out(0, back(apply("prelu", {front(n.need(0)), flat}, {{"channel", int64_t{1}}})));
  }
  n.out(0, apply("prelu", {n.need(0), n.need(1)}, {{"channel", int64_t{0}}}));
}

void concat_rule(ImportNode& n) {
  Vars all;
  for (size_t i = 0; i < n.inputs(); ++i) all.push_back(n.need(i));
  if (n.attrs.i("activation") != 0) n.refuse("an activation, which LiteRT ignores here");
  n.out(0, apply("concat", all, {{"axis", n.attrs.i("axis")}}));
}

/// To the shape that the file declares; the batch follows where both begin with 1.
void reshape_rule(ImportNode& n) {
  std::vector<int64_t> shape = n.attrs.ints("output_shape");
  const Shape x = shape_in(n, 0);
  if (!shape.empty() && x.rank() > 0 && shape[0] == x[0]) shape[0] = 0;
  n.out(0, reshape(n.need(0), shape));
}

void pad(ImportNode& n) {
  const auto pairs = n.known(n.need(1)).to_ints();
  if (pairs.size() % 2 != 0) n.refuse(pairs.size(), " pads");
  std::vector<int64_t> pads;
  for (size_t end = 0; end < 2; ++end)
    for (size_t i = end; i < pairs.size(); i += 2) pads.push_back(pairs[i]);
  n.out(0, apply("pad", {n.need(0), constant(n.program, Tensor::ints(pads))}));
}

void resize(ImportNode& n) {
  const auto size = n.known(n.need(1)).to_ints();
  picture_in(n, 0);
  if (size.size() != 2) n.refuse(size.size(), " sizes");
  const bool corners = n.attrs.i("align_corners") != 0, half = n.attrs.i("half_pixel") != 0;
  Attrs attrs{{"axes", std::vector<int64_t>{2, 3}},
              {"mode", std::string("linear")},
              {"coordinate_transformation_mode", std::string(corners ? "align_corners"
                                                             : half  ? "half_pixel"
                                                                     : "asymmetric")}};
  const Var sizes = constant(n.program, Tensor::ints(size));
  n.out(0, back(apply("resize", {front(n.need(0)), {}, {}, sizes}, attrs)));
}

void depth_to_space(ImportNode& n) {
  n.out(0, back(apply("depth_to_space", {front(n.need(0))},
                      {{"blocksize", n.attrs.i("block")}, {"mode", std::string("DCR")}})));
}

void mean(ImportNode& n) {
  const Var axes = constant(n.program, Tensor::ints(n.known(n.need(1)).to_ints()));
  n.out(0,
        apply("reduce_mean", {n.need(0), axes}, {{"keepdims", int64_t{n.attrs.i("keep") != 0}}}));
}

/// Of half precision; integers with a scale are not read yet.
void dequantize(ImportNode& n) {
  const Var x = n.need(0);
  if (!x.constant() || x.constant().dtype() != DType::f16)
    n.refuse("quantized tensors cannot be imported yet, only weights of half precision");
  n.out(0, apply("cast", {x}, {{"to", std::string("float32")}}));
}

void softmax_rule(ImportNode& n) {
  Var x = n.need(0);
  if (const double beta = n.attrs.f("beta"); beta != 1)
    x = mul(x, constant(n.program, Tensor::scalar(static_cast<float>(beta))));
  n.out(0, softmax(x, -1));
}

void transpose_rule(ImportNode& n) { n.out(0, transpose(n.need(0), n.known(n.need(1)).to_ints())); }

void strided_slice(ImportNode& n) {
  if (n.attrs.i("ellipsis_mask") != 0 || n.attrs.i("new_mask") != 0)
    n.refuse("an ellipsis or a new axis");
  const Shape x = shape_in(n, 0);
  std::vector<int64_t> begin = n.known(n.need(1)).to_ints(), end = n.known(n.need(2)).to_ints();
  std::vector<int64_t> step = n.known(n.need(3)).to_ints(), axes;
  if (begin.size() > x.rank() || end.size() != begin.size() || step.size() != begin.size())
    n.refuse("bounds of ", begin.size(), ", ", end.size(), " and ", step.size(), " dimensions");
  const auto set = [&](const char* mask, size_t d) { return (n.attrs.i(mask) >> d & 1) != 0; };
  for (size_t d = 0; d < begin.size(); ++d) {
    axes.push_back(static_cast<int64_t>(d));
    if (set("shrink_mask", d)) {
      end[d] = begin[d] == -1 ? x[d] : begin[d] + 1;
      step[d] = 1;
      continue;
    }
    const bool forward = step[d] > 0;
    if (set("begin_mask", d)) begin[d] = forward ? 0 : x[d] - 1;
    if (set("end_mask", d)) end[d] = forward ? x[d] : -x[d] - 1;
  }
  const auto list = [&](const std::vector<int64_t>& v) {
    return constant(n.program, Tensor::ints(v));
  };
  const Var part = apply("slice", {n.need(0), list(begin), list(end), list(axes), list(step)});
  n.out(0, reshape(part, n.attrs.ints("output_shape")));
}

/// Sparse tensors are dense as soon as they are read.
void densify(ImportNode& n) { n.out(0, n.need(0)); }

}  // namespace

const std::vector<Import>& tflite_imports() {
  static const std::vector<Import> all = {
      {"tflite:ADD", binary<"add">},
      {"tflite:SUB", binary<"sub">},
      {"tflite:MUL", binary<"mul">},
      {"tflite:DIV", binary<"div">},
      {"tflite:MAXIMUM", binary<"max">},
      {"tflite:MINIMUM", binary<"min">},
      {"tflite:AVERAGE_POOL_2D", pool<"avg">},
      {"tflite:MAX_POOL_2D", pool<"max">},
      {"tflite:CONV_2D", conv},
      {"tflite:DEPTHWISE_CONV_2D", conv},
      {"tflite:Convolution2DTransposeBias", transposed_conv},
      {"tflite:FULLY_CONNECTED", fully_connected},
      {"tflite:CONCATENATION", concat_rule},
      {"tflite:DEPTH_TO_SPACE", depth_to_space},
      {"tflite:DEQUANTIZE", dequantize},
      {"tflite:DENSIFY", densify},
      {"tflite:LOGISTIC", one<"sigmoid">},
      {"tflite:RELU", one<"relu">},
      {"tflite:RELU6", [](ImportNode& n) { n.out(0, clip(n.need(0), 0, 6)); }},
      {"tflite:TANH", one<"tanh">},
      {"tflite:HARD_SWISH", one<"hard_swish">},
      {"tflite:PRELU", prelu},
      {"tflite:RESHAPE", reshape_rule},
      {"tflite:SQUEEZE", reshape_rule},
      {"tflite:RESIZE_BILINEAR", resize},
      {"tflite:SOFTMAX", softmax_rule},
      {"tflite:PAD", pad},
      {"tflite:TRANSPOSE", transpose_rule},
      {"tflite:MEAN", mean},
      {"tflite:STRIDED_SLICE", strided_slice}};
  return all;
}

}  // namespace hub
