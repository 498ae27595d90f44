// Convolution and its transpose over one to three spatial dimensions, with what was fused behind
// them.
#include "runtime/ops/conv_walk.h"
#include "runtime/ops/grad.h"
#include "runtime/ops/nn.h"
#include "runtime/ops/post.h"
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

/// A Paddle convolution and its optional Bias slot.
void paddle(ImportNode& node, std::string_view op, int64_t rank) {
  Attrs attrs = paddle_window(node, rank);
  attrs.set("group", node.attrs.i("groups", 1));
  if (const auto more = node.attrs.ints("output_padding"); !more.empty())
    attrs.set("output_padding", more);
  if (!node.attrs.ints("output_size").empty())
    node.refuse("'output_size' is set; only sizes that follow from the pads");
  node.out("Output", apply(op, {node.need("Input"), node.need("Filter"), node.in("Bias")}, attrs));
}

void paddle_conv2d(ImportNode& node) { paddle(node, "conv", 2); }
void paddle_conv3d(ImportNode& node) { paddle(node, "conv", 3); }
void paddle_transpose2d(ImportNode& node) { paddle(node, "conv_transpose", 2); }

}  // namespace

extern const OpDef conv_op = {.name = "conv",
                              .min_inputs = 2,
                              .max_inputs = 4,
                              .infer = infer_conv,
                              .forward = widened<forward_conv>,
                              .grad = grad<false>,
                              .imports = {{"onnx:Conv", onnx_conv},
                                          {"paddle:conv2d", paddle_conv2d},
                                          {"paddle:depthwise_conv2d", paddle_conv2d},
                                          {"paddle:conv3d", paddle_conv3d}}};

extern const OpDef conv_transpose_op = {
    .name = "conv_transpose",
    .min_inputs = 2,
    .max_inputs = 3,
    .infer = infer_transpose,
    .forward = widened<forward_transpose>,
    .grad = grad<true>,
    .imports = {{"onnx:ConvTranspose", onnx_transpose},
                {"paddle:conv2d_transpose", paddle_transpose2d},
                {"paddle:depthwise_conv2d_transpose", paddle_transpose2d}}};

}  // namespace hub
