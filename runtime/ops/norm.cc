// Normalisation of pictures: by given statistics (batch), per channel (instance), per group of
// channels, and across neighbouring channels (lrn). x is [N, C, …].
#include <cmath>

#include "runtime/ops/grad.h"
#include "runtime/ops/nn.h"
#include "runtime/ops/rules.h"

namespace hub {
namespace {

/// batch_norm(x, scale, bias, mean, variance), instance_norm(x, scale, bias): all but x are [C].
std::vector<Spec> infer_by_channel(const Infer& infer) {
  const Spec& x = real_input(infer, 0, 2);
  for (size_t i = 1; i < infer.size(); ++i) {
    const Spec& s = real_input(infer, i, 1, 1);
    if (s.shape[0] != x.shape[1])
      fail(Code::refused, "input ", i, " is ", s.str(), " for ", x.shape[1], " channels");
    if (s.dtype != x.dtype && s.dtype != DType::f32)
      fail(Code::unsupported, "input ", i, " is ", s.str());
  }
  return {x};
}

void forward_batch_norm(const Call& call) {
  const double epsilon = call.attrs.f("epsilon", 1e-5);
  const auto scale = to_doubles(call.x(1));
  const auto bias = to_doubles(call.x(2));
  const auto mean = to_doubles(call.x(3));
  const auto variance = to_doubles(call.x(4));
  const AxisView v(call.x(0).shape(), 1);
  dispatch(Reals{}, call.x(0).dtype(), [&]<class T>() {
    for (int64_t i = 0; i < v.outer * v.length; ++i) {
      const auto c = static_cast<size_t>(i % v.length);
      const auto a = static_cast<T>(scale[c] / std::sqrt(variance[c] + epsilon));
      const auto b = static_cast<T>(bias[c] - mean[c] * a);
      const T* x = call.x(0).data<T>() + i * v.inner;
      T* y = call.y().data<T>() + i * v.inner;
      for (int64_t j = 0; j < v.inner; ++j) y[j] = x[j] * a + b;
    }
  });
}

/// Brings `count` numbers to mean 0 and variance 1.
template <class T>
void normalize(const T* x, T* y, int64_t count, double epsilon) {
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += x[i];
  const double mean = sum / static_cast<double>(count);
  double squares = 0;
  for (int64_t i = 0; i < count; ++i) squares += (x[i] - mean) * (x[i] - mean);
  const double scale = 1 / std::sqrt(squares / static_cast<double>(count) + epsilon);
  for (int64_t i = 0; i < count; ++i) y[i] = static_cast<T>((x[i] - mean) * scale);
}

/// Every picture in `pieces` equal runs of channels; then by channel (scale.size() == C) or by
/// piece.
void normalize_pieces(const Call& call, int64_t pieces) {
  const double epsilon = call.attrs.f("epsilon", 1e-5);
  const AxisView v(call.x(0).shape(), 1);
  const auto scale =
      call.has(1) ? to_doubles(call.x(1)) : std::vector<double>(static_cast<size_t>(v.length), 1);
  const auto bias =
      call.has(2) ? to_doubles(call.x(2)) : std::vector<double>(static_cast<size_t>(v.length), 0);
  const int64_t run = v.length / pieces * v.inner;
  dispatch(Reals{}, call.x(0).dtype(), [&]<class T>() {
    T* y = call.y().data<T>();
    for (int64_t i = 0; i < v.outer * pieces; ++i)
      normalize(call.x(0).data<T>() + i * run, y + i * run, run, epsilon);
    for (int64_t i = 0; i < v.outer * v.length * v.inner; ++i) {
      const auto c = static_cast<size_t>(i / v.inner % v.length) /
                     (static_cast<size_t>(v.length) / scale.size());
      y[i] = static_cast<T>(y[i] * scale[c] + bias[c]);
    }
  });
}

void forward_instance_norm(const Call& call) { normalize_pieces(call, call.x(0).shape()[1]); }

/// group_norm(x, scale?, bias?) groups: scale and bias are [C], or [groups] (ONNX before opset 21).
std::vector<Spec> infer_group_norm(const Infer& infer) {
  const Spec& x = real_input(infer, 0, 2);
  const int64_t groups = infer.attrs.i("groups");
  if (groups < 1 || x.shape[1] % groups != 0)
    fail(Code::refused, groups, " groups of ", x.shape[1], " channels");
  for (size_t i = 1; i < infer.size(); ++i) {
    if (!infer.has(i)) continue;
    const Spec& s = real_input(infer, i, 1, 1);
    if (s.shape[0] != x.shape[1] && s.shape[0] != groups)
      fail(Code::refused, "input ", i, " is ", s.str());
    if (infer.has(1) && s.shape != infer.in(1).shape)
      fail(Code::refused, "input ", i, " is ", s.str());
  }
  return {x};
}

void forward_group_norm(const Call& call) { normalize_pieces(call, call.attrs.i("groups")); }

std::vector<Spec> infer_lrn(const Infer& infer) {
  if (infer.attrs.i("size") < 1) fail(Code::refused, "'size' is ", infer.attrs.i("size"));
  return {real_input(infer, 0, 2)};
}

/// y = x / (bias + alpha / size * sum of the squares of `size` channels around)^beta.
void forward_lrn(const Call& call) {
  const double alpha = call.attrs.f("alpha", 1e-4);
  const double beta = call.attrs.f("beta", 0.75);
  const double bias = call.attrs.f("bias", 1);
  const int64_t size = call.attrs.i("size");
  const AxisView v(call.x(0).shape(), 1);
  dispatch(Reals{}, call.x(0).dtype(), [&]<class T>() {
    for (int64_t n = 0; n < v.outer; ++n) {
      const T* x = call.x(0).data<T>() + n * v.length * v.inner;
      T* y = call.y().data<T>() + n * v.length * v.inner;
      for (int64_t c = 0; c < v.length; ++c) {
        const int64_t from = std::max<int64_t>(0, c - (size - 1) / 2);
        const int64_t to = std::min(v.length, c + size / 2 + 1);
        for (int64_t i = 0; i < v.inner; ++i) {
          double sum = 0;
          for (int64_t k = from; k < to; ++k)
            sum += static_cast<double>(x[k * v.inner + i]) * x[k * v.inner + i];
          const double scale = std::pow(bias + alpha / static_cast<double>(size) * sum, beta);
          y[c * v.inner + i] = static_cast<T>(x[c * v.inner + i] / scale);
        }
      }
    }
  });
}

/// By fixed statistics it is an affine map of each channel.
void grad_batch_norm(Grad& g) {
  const Var one = expand_as(g.number(1, g.x(1)), g.x(1));
  const Var zero = g.zeros(g.x(1));
  if (g.wants(0)) g.dx(0, apply("batch_norm", {g.dy(), g.x(1), zero, zero, g.x(4)}, g.attrs));
  if (g.wants(1)) {
    const Var normal = apply("batch_norm", {g.x(0), one, zero, g.x(3), g.x(4)}, g.attrs);
    g.dx(1, apply("channel_sums", {mul(g.dy(), normal)}));
  }
  if (g.wants(2)) g.dx(2, apply("channel_sums", {g.dy()}));
}

void grad_group_norm(Grad& g) {
  // Without a scale, ones like the bias say how its gradient is summed.
  const Var scale = g.has(1) ? g.x(1) : g.has(2) ? expand_as(g.number(1, g.x(2)), g.x(2)) : Var{};
  const Vars d = apply(*find_op("group_norm_grad"), {g.x(0), g.dy(), scale}, g.attrs, 3);
  for (size_t i = 0; i < 3; ++i) g.dx(i, d[i]);
}

void grad_lrn(Grad& g) { g.dx(0, apply("lrn_grad", {g.x(0), g.dy()}, g.attrs)); }

/// By the statistics of the batch: y and the running mean and variance, into which the variance
/// divided by n goes, not that by n - 1 of batch_norm_train.
void onnx_batch_norm_train(ImportNode& n) {
  Vars in;
  for (size_t i = 0; i < 5; ++i) in.push_back(n.need(i));
  const double keep = n.attrs.f("momentum", 0.9);
  const double epsilon = n.attrs.f("epsilon", 1e-5);
  const Vars y =
      apply(*find_op("batch_norm_train"), in, {{"epsilon", epsilon}, {"momentum", keep}}, 5);
  n.out(0, y[0]);
  n.out(1, y[3]);
  auto number = [&](double v) {
    return apply("cast", {constant(n.program, scalar_of(DType::f64, v)), in[4]});
  };
  const Var spread = unary("reciprocal", mul(y[2], y[2]));
  const Var own = apply("max", {sub(apply("cast", {spread, in[4]}), number(epsilon)), number(0)});
  n.out(2, add(mul(in[4], number(keep)), mul(own, number(1 - keep))));
}

/// Opsets before 7 said with is_test that this is inference; from 14 on training_mode says that it
/// is not.
void onnx_batch_norm(ImportNode& n) {
  if (n.attrs.i("spatial", 1) == 0)
    n.refuse("'spatial' is 0; only statistics per channel can be imported");
  if (n.attrs.i("training_mode", 0) != 0) return onnx_batch_norm_train(n);
  Vars in;
  for (size_t i = 0; i < 5; ++i) in.push_back(n.need(i));
  n.out(0, apply("batch_norm", in, {{"epsilon", n.attrs.f("epsilon", 1e-5)}}));
}

/// Slot X to slot `out` by f, which sees the channels in front.
template <class F>
void by_channels(ImportNode& n, std::string_view out, F f) {
  const Var x = n.need("X");
  if (!channels_last(n)) return n.out(out, f(x));
  const size_t rank = shape_of(n, x).rank();
  if (rank < 3) return n.out(out, f(x));
  n.out(out, channels_to_back(f(channels_to_front(x, rank)), rank));
}

void paddle_batch_norm(ImportNode& n) {
  if (n.attrs.i("trainable_statistics", 0) != 0 && n.attrs.i("use_global_stats", 0) == 0)
    n.refuse("'trainable_statistics' is on; only inference can be imported");
  by_channels(n, "Y", [&](Var x) {
    const Vars in{x, n.need("Scale"), n.need("Bias"), n.need("Mean"), n.need("Variance")};
    return apply("batch_norm", in, {{"epsilon", n.attrs.f("epsilon", 1e-5)}});
  });
}

/// x * scale + bias, a number of each for a channel.
void paddle_affine_channel(ImportNode& n) {
  const Var x = n.need("X");
  Var scale = n.need("Scale");
  Var bias = n.need("Bias");
  if (n.attrs.s("data_layout", "AnyLayout") == "NCHW") {
    const std::vector<int64_t> shape{-1, 1, 1};
    scale = reshape(scale, shape);
    bias = reshape(bias, shape);
  }
  n.out("Out", add(mul(x, scale), bias));
}

/// (x - sum / size) * sqrt(size / sum of squares), by sums that were kept for each feature.
void paddle_data_norm(ImportNode& n) {
  if (n.attrs.i("slot_dim", -1) > 0) n.refuse("'slot_dim' is ", n.attrs.i("slot_dim"));
  const Var size = n.need("BatchSize");
  const Var mean = div(n.need("BatchSum"), size);
  const Var scale = unary("sqrt", div(size, n.need("BatchSquareSum")));
  Var y = mul(sub(n.need("X"), mean), scale);
  if (n.attrs.i("enable_scale_and_shift", 0) != 0)
    y = add(mul(y, n.need("scale_w")), n.need("bias"));
  n.out("Y", y);
  n.out("Means", mean);
  n.out("Scales", scale);
}

/// Paddle's alpha is for the sum, not for the mean.
void paddle_lrn(ImportNode& n) {
  const int64_t size = n.attrs.i("n", 5);
  const Attrs attrs{{"size", size},
                    {"alpha", n.attrs.f("alpha", 1e-4) * static_cast<double>(size)},
                    {"beta", n.attrs.f("beta", 0.75)},
                    {"bias", n.attrs.f("k", 2)}};
  by_channels(n, "Out", [&](Var x) { return apply("lrn", {x}, attrs); });
}

void onnx_instance_norm(ImportNode& n) {
  n.out(0, apply("instance_norm", {n.need(0), n.need(1), n.need(2)},
                 {{"epsilon", n.attrs.f("epsilon", 1e-5)}}));
}

/// Without Scale and Bias it is a group norm with a group for each channel.
void paddle_instance_norm(ImportNode& n) {
  const Var x = n.need("X");
  Attrs attrs{{"epsilon", n.attrs.f("epsilon", 1e-5)}};
  const Var scale = n.in("Scale");
  const Var bias = n.in("Bias");
  if (scale && bias) return n.out("Y", apply("instance_norm", {x, scale, bias}, attrs));
  const Shape shape = shape_of(n, x);
  if (shape.rank() < 3 || shape[1] < 1) n.refuse("the number of channels is not declared");
  attrs.set("groups", shape[1]);
  n.out("Y", apply("group_norm", {x, scale, bias}, attrs));
}

/// (x - mean) / (standard deviation + 1e-9) over the axes, all but the channels' by default.
void onnx_mean_variance(ImportNode& n) {
  const Var x = n.need(0);
  const auto given = n.attrs.ints("axes");
  const Var axes = ints(n, given.empty() ? std::vector<int64_t>{0, 2, 3} : given);
  const Var from_mean = sub(x, apply("reduce_mean", {x, axes}));
  const Var spread = unary("sqrt", apply("reduce_mean", {mul(from_mean, from_mean), axes}));
  n.out(0, div(from_mean,
               add(spread, apply("cast", {constant(n.program, scalar_of(DType::f64, 1e-9)), x}))));
}

void onnx_group_norm(ImportNode& n) {
  n.out(0, apply("group_norm", {n.need(0), n.need(1), n.need(2)},
                 {{"epsilon", n.attrs.f("epsilon", 1e-5)}, {"groups", n.attrs.i("num_groups")}}));
}

void paddle_group_norm(ImportNode& n) {
  const Attrs attrs{{"epsilon", n.attrs.f("epsilon", 1e-5)}, {"groups", n.attrs.i("groups")}};
  by_channels(n, "Y", [&](Var x) {
    return apply("group_norm", {x, n.in("Scale"), n.in("Bias")}, attrs);
  });
}

}  // namespace

extern const OpDef batch_norm_op = {.name = "batch_norm",
                                    .min_inputs = 5,
                                    .max_inputs = 5,
                                    .infer = infer_by_channel,
                                    .forward = widened<forward_batch_norm>,
                                    .grad = grad_batch_norm,
                                    .settings = 0b11000,
                                    .imports = {{"onnx:BatchNormalization", onnx_batch_norm},
                                                {"paddle:batch_norm", paddle_batch_norm},
                                                {"paddle:sync_batch_norm", paddle_batch_norm},
                                                {"paddle:affine_channel", paddle_affine_channel},
                                                {"paddle:data_norm", paddle_data_norm}}};
extern const OpDef instance_norm_op = {
    .name = "instance_norm",
    .min_inputs = 3,
    .max_inputs = 3,
    .infer = infer_by_channel,
    .forward = widened<forward_instance_norm>,
    .grad = grad_group_norm,
    .imports = {{"onnx:InstanceNormalization", onnx_instance_norm},
                {"onnx:MeanVarianceNormalization", onnx_mean_variance},
                {"paddle:instance_norm", paddle_instance_norm}}};
extern const OpDef group_norm_op = {.name = "group_norm",
                                    .min_inputs = 1,
                                    .max_inputs = 3,
                                    .infer = infer_group_norm,
                                    .forward = widened<forward_group_norm>,
                                    .grad = grad_group_norm,
                                    .imports = {{"onnx:GroupNormalization", onnx_group_norm},
                                                {"paddle:group_norm", paddle_group_norm}}};
extern const OpDef lrn_op = {
    .name = "lrn",
    .infer = infer_lrn,
    .forward = widened<forward_lrn>,
    .grad = grad_lrn,
    .imports = {{"onnx:LRN", onnx_same<"lrn">}, {"paddle:lrn", paddle_lrn}}};

}  // namespace hub
