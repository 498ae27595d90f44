// Convolution and its transpose over one to three spatial dimensions, with what was fused behind
// them.
#include "runtime/ops/conv_walk.h"
#include "runtime/ops/grad.h"
#include "runtime/ops/nn.h"
#include "runtime/ops/post.h"
#include "runtime/ops/rules.h"
#include "runtime/ops/window.h"
#include "runtime/ops/window_import.h"

namespace hub {
namespace {

int64_t groups(const Attrs& attrs, int64_t in, int64_t out) {
  const int64_t group = attrs.i("group", 1);
  if (group < 1 || in % group != 0 || out % group != 0) {
    fail(Code::refused, "'group' is ", group, ", which does not divide ", in, " and ", out,
         " channels");
  }
  return group;
}

/// x and w, of one dtype and rank, with one to three spatial dimensions.
void check_operands(const Infer& infer) {
  const Spec& x = real_input(infer, 0, 3, 5);
  const Spec& w = real_input(infer, 1, 3, 5);
  if (w.dtype != x.dtype || w.shape.rank() != x.shape.rank()) {
    fail(Code::refused, "weights ", w.str(), " do not fit input ", x.str());
  }
}

std::vector<Spec> infer_conv(const Infer& infer) {
  check_operands(infer);
  const Spec& x = infer.in(0);
  const Shape& w = infer.in(1).shape;
  const int64_t group = groups(infer.attrs, x.shape[1], w[0]);
  if (w[1] * group != x.shape[1]) {
    fail(Code::refused, "weights ", w.str(), " in ", group, " groups do not fit ", x.shape[1],
         " channels");
  }
  want(infer, 2, {x.dtype, {w[0]}});
  Spec y{x.dtype, {x.shape[0], w[0]}};
  for (int64_t n : conv_window(infer.attrs, spatial(x.shape), spatial(w)).out) y.shape.push_back(n);
  check_post(infer.attrs, y, infer.has(3));
  want(infer, 3, y);
  return {y};
}

template <class T>
void start_with_bias(const Call& call) {
  const Shape& y = call.y().shape();
  const int64_t size = y.numel(2, y.rank());
  for (int64_t plane = 0; plane < y[0] * y[1]; ++plane) {
    std::fill_n(call.y().data<T>() + plane * size, size,
                call.has(2) ? call.x(2).data<T>()[plane % y[1]] : T{});
  }
}

template <class T>
void conv(const Call& call) {
  const Shape& x = call.x(0).shape();
  const Shape& w = call.x(1).shape();
  const Shape& y = call.y().shape();
  const ConvWalk walk(conv_window(call.attrs, spatial(x), spatial(w)), y, x, w);
  start_with_bias<T>(call);
  add_to_small(walk, call.x(0).data<T>(), call.x(1).data<T>(), call.y().data<T>());
}

void forward_conv(const Call& call) {
  dispatch(Reals{}, call.x(0).dtype(), [&]<class T>() { conv<T>(call); });
  apply_posts(call.attrs, call.y(), call.has(3) ? &call.x(3) : nullptr);
}

std::vector<Spec> infer_transpose(const Infer& infer) {
  check_operands(infer);
  const Spec& x = infer.in(0);
  const Shape& w = infer.in(1).shape;
  const int64_t group = groups(infer.attrs, x.shape[1], x.shape[1]);
  if (w[0] != x.shape[1])
    fail(Code::refused, "weights ", w.str(), " do not fit ", x.shape[1], " channels");
  want(infer, 2, {x.dtype, {w[1] * group}});
  Spec y{x.dtype, {x.shape[0], w[1] * group}};
  for (int64_t n : conv_transpose_window(infer.attrs, spatial(x.shape), spatial(w)).out)
    y.shape.push_back(n);
  return {y};
}

template <class T>
void conv_transpose(const Call& call) {
  const Shape& x = call.x(0).shape();
  const Shape& w = call.x(1).shape();
  const Shape& y = call.y().shape();
  const ConvWalk walk(conv_transpose_window(call.attrs, spatial(x), spatial(w)), x, y, w);
  start_with_bias<T>(call);
  add_to_large(walk, call.x(0).data<T>(), call.x(1).data<T>(), call.y().data<T>());
}

void forward_transpose(const Call& call) {
  dispatch(Reals{}, call.x(0).dtype(), [&]<class T>() { conv_transpose<T>(call); });
}

template <bool transpose>
void grad(Grad& g) {
  if (g.attrs.has("post"))
    fail(Code::unsupported, "the gradient of a convolution with something fused behind it");
  if (g.wants(0)) {
    g.dx(0, apply(transpose ? "conv_transpose_input_grad" : "conv_input_grad",
                  {g.dy(), g.x(1), g.x(0)}, g.attrs));
  }
  if (!g.wants(1) && !g.wants(2)) return;
  const OpDef& op = *find_op(transpose ? "conv_transpose_weight_grad" : "conv_weight_grad");
  const Vars dw = apply(op, {g.x(0), g.dy(), g.x(1)}, g.attrs, g.has(2) ? 2 : 1);
  g.dx(1, dw[0]);
  if (g.has(2)) g.dx(2, dw[1]);
}

void onnx_conv(ImportNode& node) {
  node.out(0, apply("conv", {node.need(0), node.need(1), node.in(2)}, onnx_window(node)));
}

void onnx_transpose(ImportNode& node) {
  node.out(0, apply("conv_transpose", {node.need(0), node.need(1), node.in(2)}, onnx_window(node)));
}

/// The sizes that a transposed convolution must come to beyond those that follow from its pads.
/// SAME means the pads of a convolution over an input of this size. Both need declared sizes.
void fit_transposed(ImportNode& node, Attrs& attrs, Var x) {
  const auto sizes = node.attrs.ints("output_size");
  const bool same = attrs.s("auto_pad", "") == "same_upper";
  if (sizes.empty() && !same) return;
  const Shape in = shape_of(node, x);
  const Shape w = shape_of(node, node.need("Filter"));
  if (in.rank() < 3 || w.rank() != in.rank()) node.refuse("weights ", w.str(), " for ", in.str());
  const size_t rank = in.rank() - 2;
  auto get = [&](const char* name, size_t d, int64_t fallback) {
    const auto list = attrs.ints(name);
    return d < list.size() ? list[d] : fallback;
  };
  std::vector<int64_t> more(rank), pads(2 * rank);
  for (size_t d = 0; d < rank; ++d) {
    const int64_t length = in[2 + d];
    const int64_t stride = get("strides", d, 1);
    if (length < 0) node.refuse("its output depends on a size that is not declared");
    if (stride < 1) node.refuse("'strides' holds ", stride);
    if (same) {
      const int64_t sum =
          std::max<int64_t>(((length + stride - 1) / stride - 1) * stride + w[2 + d] - length, 0);
      pads[d] = sum / 2;
      pads[rank + d] = sum - sum / 2;
    } else {
      pads[d] = get("pads", d, 0);
      pads[rank + d] = get("pads", rank + d, 0);
    }
    const int64_t least = (length - 1) * stride - pads[d] - pads[rank + d] +
                          get("dilations", d, 1) * (w[2 + d] - 1) + 1;
    if (d < sizes.size()) more[d] = sizes[d] - least;
    if (more[d] < 0 || more[d] >= stride)
      node.refuse("'output_size' ", sizes[d], " cannot be reached from ", least);
  }
  attrs.erase("auto_pad");
  attrs.set("pads", pads);
  if (!sizes.empty()) attrs.set("output_padding", more);
}

/// A Paddle convolution and its optional Bias slot. Filters are [out, in, …] in both layouts.
template <Literal op, size_t rank>
void paddle(ImportNode& node) {
  Attrs attrs = paddle_window(node, rank);
  attrs.set("group", node.attrs.i("groups", 1));
  if (const auto more = node.attrs.ints("output_padding"); !more.empty())
    attrs.set("output_padding", more);
  const bool last = channels_last(node);
  const Var x = last ? channels_to_front(node.need("Input"), rank + 2) : node.need("Input");
  if (last && (attrs.has("auto_pad") || !node.attrs.ints("output_size").empty()) &&
      op.view() == "conv_transpose")
    node.refuse("the sizes of its output with the channels last");
  if (op.view() == "conv_transpose") fit_transposed(node, attrs, x);
  const Var y = apply(op.view(), {x, node.need("Filter"), node.in("Bias")}, attrs);
  node.out("Output", last ? channels_to_back(y, rank + 2) : y);
}

}  // namespace

extern const OpDef conv_op = {.name = "conv",
                              .min_inputs = 2,
                              .max_inputs = 4,
                              .infer = infer_conv,
                              .forward = widened<forward_conv>,
                              .grad = grad<false>,
                              .imports = {{"onnx:Conv", onnx_conv},
                                          {"paddle:conv2d", paddle<"conv", 2>},
                                          {"paddle:depthwise_conv2d", paddle<"conv", 2>},
                                          {"paddle:conv3d", paddle<"conv", 3>}}};

extern const OpDef conv_transpose_op = {
    .name = "conv_transpose",
    .min_inputs = 2,
    .max_inputs = 3,
    .infer = infer_transpose,
    .forward = widened<forward_transpose>,
    .grad = grad<true>,
    .imports = {{"onnx:ConvTranspose", onnx_transpose},
                {"paddle:conv2d_transpose", paddle<"conv_transpose", 2>},
                {"paddle:depthwise_conv2d_transpose", paddle<"conv_transpose", 2>},
                {"paddle:conv3d_transpose", paddle<"conv_transpose", 3>}}};

}  // namespace hub
