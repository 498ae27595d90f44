// layer_norm(x, scale?, bias?) -> y, mean?, inverse deviation?: over all dimensions from `axis`
// (default the last) on, with `epsilon`. scale and bias broadcast to x; the statistics keep the
// rank of x and are float32 for 16-bit floats.
#include <cmath>

#include "runtime/ops/grad.h"
#include "runtime/ops/nn.h"
#include "runtime/ops/rules.h"

namespace hub {

extern const OpDef layer_norm_op;

namespace {

size_t first_axis(const Attrs& attrs, const Shape& x) {
  return axis_of(attrs.i("axis", -1), x.rank());
}

std::vector<Spec> infer_layer_norm(const Infer& infer) {
  const Spec& x = real_input(infer, 0, 1);
  const size_t axis = first_axis(infer.attrs, x.shape);
  for (size_t i = 1; i < infer.size(); ++i) {
    if (!infer.has(i)) continue;
    check_same_type(infer, 0, i);
    const Shape& s = infer.in(i).shape;
    if (s.rank() > x.shape.rank() || !(broadcast(x.shape, s) == x.shape)) {
      fail(Code::refused, "input ", i, " is ", infer.in(i).str(), ", which does not broadcast to ",
           x.shape.str());
    }
  }
  Spec statistics{x.dtype == DType::f64 ? DType::f64 : DType::f32, x.shape};
  for (size_t d = axis; d < x.shape.rank(); ++d) statistics.shape[d] = 1;
  return {x, statistics, statistics};
}

template <class T>
void layer_norm(const Call& call) {
  const Shape& shape = call.x(0).shape();
  const size_t axis = first_axis(call.attrs, shape);
  const int64_t rows = shape.numel(0, axis);
  const int64_t length = shape.numel(axis, shape.rank());
  const double epsilon = call.attrs.f("epsilon", 1e-5);
  auto statistics = [&](size_t i) {
    return i < call.out.size() && call.out[i] ? call.out[i]->data<T>() : nullptr;
  };
  T* means = statistics(1);
  T* scales = statistics(2);
  parallel(rows, 16, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const T* x = call.x(0).data<T>() + r * length;
      T* y = call.wants(0) ? call.y().data<T>() + r * length : nullptr;
      double sum = 0;
      for (int64_t i = 0; i < length; ++i) sum += x[i];
      const double mean = sum / static_cast<double>(length);
      double squares = 0;
      for (int64_t i = 0; i < length; ++i) squares += (x[i] - mean) * (x[i] - mean);
      const double scale = 1 / std::sqrt(squares / static_cast<double>(length) + epsilon);
      for (int64_t i = 0; y != nullptr && i < length; ++i)
        y[i] = static_cast<T>((x[i] - mean) * scale);
      if (means != nullptr) means[r] = static_cast<T>(mean);
      if (scales != nullptr) scales[r] = static_cast<T>(scale);
    }
  });
  for (size_t input = 1; input <= 2; ++input) {
    if (!call.has(input) || !call.wants(0)) continue;
    const T* by = call.x(input).data<T>();
    T* y = call.y().data<T>();
    each_row(
        Walk<1>{shape, {broadcast_strides(call.x(input).shape(), shape)}},
        [&](int64_t row, int64_t count, std::array<int64_t, 1> at, std::array<int64_t, 1> step) {
          for (int64_t i = 0; i < count; ++i) {
            const T v = by[at[0] + i * step[0]];
            y[row + i] = input == 1 ? y[row + i] * v : y[row + i] + v;
          }
        });
  }
}

void forward_layer_norm(const Call& call) {
  dispatch(Reals{}, call.x(0).dtype(), [&]<class T>() { layer_norm<T>(call); });
}

void grad_layer_norm(Grad& g) {
  if (g.dy()) {
    const Vars d = apply(*find_op("layer_norm_grad"), {g.x(0), g.dy(), g.x(1), g.x(2)}, g.attrs, 3);
    for (size_t i = 0; i < 3; ++i) g.dx(i, d[i]);
  }
  // Through the statistics, which nearly nobody uses: of n numbers each, d mean = 1 / n and
  // d inverse deviation = -inverse deviation ^ 3 * (x - mean) / n.
  Var more;
  for (size_t i = 1; i <= 2; ++i) {
    if (!g.dy(i)) continue;
    const Var count = sum_to(expand_as(g.number(1, g.dy(i)), g.x(0)), g.dy(i));
    Var part = expand_as(div(g.dy(i), count), g.x(0));
    if (i == 2) {
      if (!g.y(1)) fail(Code::unsupported, "the inverse deviation without the mean");
      const Var cube = mul(g.y(2), mul(g.y(2), g.y(2)));
      part = mul(mul(part, neg(cube)), sub(g.x(0), g.y(1)));
    }
    more = more ? add(more, part) : part;
  }
  if (!more) return;
  const Var before = g.result()[0];
  g.dx(0, before ? add(before, more) : more);
}

void onnx_layer_norm(ImportNode& n) {
  if (n.attrs.i("stash_type", 1) != 1) n.refuse("'stash_type' is ", n.attrs.i("stash_type", 1));
  const size_t outputs = std::max<size_t>(n.outputs(), 1);
  const Vars y =
      apply(layer_norm_op, {n.need(0), n.need(1), n.in(2)},
            {{"axis", n.attrs.i("axis", -1)}, {"epsilon", n.attrs.f("epsilon", 1e-5)}}, outputs);
  for (size_t i = 0; i < outputs; ++i) n.out(i, y[i]);
}

/// Scale and Bias are one flat list over the normalised dimensions.
void paddle_layer_norm(ImportNode& n) {
  const Var x = n.need("X");
  const int64_t axis = n.attrs.i("begin_norm_axis", 1);
  const Var shape = apply("shape", {x});
  const Var flat = apply("flatten", {x}, {{"axis", axis}});
  const Var y = apply("layer_norm", {flat, n.in("Scale"), n.in("Bias")},
                      {{"axis", int64_t{1}}, {"epsilon", n.attrs.f("epsilon", 1e-5)}});
  n.out("Y", apply("reshape", {y, shape}, {{"allowzero", int64_t{1}}}));
}

}  // namespace

extern const OpDef layer_norm_op = {.name = "layer_norm",
                                    .min_inputs = 1,
                                    .max_inputs = 3,
                                    .outputs = 3,
                                    .infer = infer_layer_norm,
                                    .forward = widened<forward_layer_norm>,
                                    .grad = grad_layer_norm,
                                    .imports = {{"onnx:LayerNormalization", onnx_layer_norm},
                                                {"paddle:layer_norm", paddle_layer_norm}}};

}  // namespace hub
