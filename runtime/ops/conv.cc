// Convolution and its transpose over one to three spatial dimensions, with what was fused behind
// them.
#include "runtime/ops/nn.h"
#include "runtime/ops/post.h"
#include "runtime/ops/taps.h"
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
void start_with_bias(const Call& call, T* y, int64_t channels, int64_t size) {
  for (int64_t c = 0; c < channels; ++c) {
    std::fill_n(y + c * size, size, call.has(2) ? call.x(2).data<T>()[c] : T{});
  }
}

template <class T>
void conv(const Call& call) {
  const Shape& x = call.x(0).shape();
  const Shape& w = call.x(1).shape();
  const Shape& y = call.y().shape();
  const Taps taps(conv_window(call.attrs, spatial(x), spatial(w)), spatial(y), spatial(x));
  const int64_t out_per_group = w[0] / call.attrs.i("group", 1);
  for (int64_t n = 0; n < x[0]; ++n) {
    T* image = call.y().data<T>() + n * w[0] * taps.small_size();
    start_with_bias(call, image, w[0], taps.small_size());
    parallel(w[0], 1, [&](int64_t begin, int64_t end) {
      for (int64_t o = begin; o < end; ++o) {
        T* to = image + o * taps.small_size();
        for (int64_t i = 0; i < w[1]; ++i) {
          const T* from =
              call.x(0).data<T>() + (n * x[1] + o / out_per_group * w[1] + i) * taps.large_size();
          const T* weight = call.x(1).data<T>() + (o * w[1] + i) * taps.taps();
          taps.walk([&](int64_t tap, int64_t small, int64_t large, int64_t count, int64_t stride) {
            for (int64_t j = 0; j < count; ++j)
              to[small + j] += weight[tap] * from[large + j * stride];
          });
        }
      }
    });
  }
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
  const Taps taps(conv_transpose_window(call.attrs, spatial(x), spatial(w)), spatial(x),
                  spatial(y));
  const int64_t in_per_group = w[0] / call.attrs.i("group", 1);
  for (int64_t n = 0; n < x[0]; ++n) {
    T* image = call.y().data<T>() + n * y[1] * taps.large_size();
    start_with_bias(call, image, y[1], taps.large_size());
    for (int64_t i = 0; i < w[0]; ++i) {
      const T* from = call.x(0).data<T>() + (n * x[1] + i) * taps.small_size();
      for (int64_t o = 0; o < w[1]; ++o) {
        T* to = image + (i / in_per_group * w[1] + o) * taps.large_size();
        const T* weight = call.x(1).data<T>() + (i * w[1] + o) * taps.taps();
        taps.walk([&](int64_t tap, int64_t small, int64_t large, int64_t count, int64_t stride) {
          for (int64_t j = 0; j < count; ++j)
            to[large + j * stride] += weight[tap] * from[small + j];
        });
      }
    }
  }
}

void forward_transpose(const Call& call) {
  dispatch(Reals{}, call.x(0).dtype(), [&]<class T>() { conv_transpose<T>(call); });
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

const OpDef conv_op = {.name = "conv",
                       .min_inputs = 2,
                       .max_inputs = 4,
                       .infer = infer_conv,
                       .forward = widened<forward_conv>,
                       .imports = {{"onnx:Conv", onnx_conv},
                                   {"paddle:conv2d", paddle_conv2d},
                                   {"paddle:depthwise_conv2d", paddle_conv2d},
                                   {"paddle:conv3d", paddle_conv3d}}};

const OpDef conv_transpose_op = {
    .name = "conv_transpose",
    .min_inputs = 2,
    .max_inputs = 3,
    .infer = infer_transpose,
    .forward = widened<forward_transpose>,
    .imports = {{"onnx:ConvTranspose", onnx_transpose},
                {"paddle:conv2d_transpose", paddle_transpose2d},
                {"paddle:depthwise_conv2d_transpose", paddle_transpose2d}}};

}  // namespace hub
