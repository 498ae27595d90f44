#include "tests/runtime/small_networks.h"

#include <cmath>

#include "runtime/ops.h"
#include "tests/runtime/op_cases.h"

namespace hub {
namespace {

/// Noise of about unit gain through a layer that sums `summed` numbers.
Var weights(Program& p, const Shape& shape, int64_t summed, uint32_t seed) {
  Tensor w = noise(shape, seed);
  const float scale = std::sqrt(3.0F / static_cast<float>(summed));
  for (int64_t k = 0; k < w.numel(); ++k) w.data<float>()[k] *= scale;
  return constant(p, w);
}

Var input(Program& p, const Shape& sample) {
  Shape shape{-1};
  for (int64_t d : sample) shape.push_back(d);
  return {&p, p.add_input("x", {DType::f32, shape})};
}

/// A strided convolution, two for Winograd's method (at a batch of 3 the second one's scratch is
/// the largest piece of the arena), a depthwise one, a residual, a head.
Var picture(Program& p, const Shape& sample) {
  const Var x = input(p, sample);
  Var y = conv(x, weights(p, {32, 3, 3, 3}, 27, 1), constant(p, noise({32}, 2)),
               {.strides = {2, 2}, .pads = {1, 1, 1, 1}});
  y = clip(y, 0, 6);
  const Var z = unary("relu", conv(y, weights(p, {32, 32, 3, 3}, 288, 3),
                                   constant(p, noise({32}, 4)), {.pads = {1, 1, 1, 1}}));
  const Var d = unary("hard_swish", conv(z, weights(p, {32, 1, 5, 5}, 25, 5), {},
                                         {.pads = {2, 2, 2, 2}, .group = 32}));
  y = add(conv(d, weights(p, {32, 32, 1, 1}, 32, 6), {}, {}), y);
  y = pool(y, {.kernel = {2, 2}, .strides = {2, 2}});
  y = conv(y, weights(p, {44, 32, 3, 3}, 288, 7), {}, {.pads = {1, 1, 1, 1}});
  y = reshape(global_average(y), {0, -1});
  return softmax(matmul(y, weights(p, {10, 44}, 44, 8), constant(p, noise({10}, 9)), false, true),
                 -1);
}

Var layers(Program& p, const Shape& sample) {
  Var y = unary("relu", matmul(input(p, sample), weights(p, {120, 400}, 120, 1),
                               constant(p, noise({400}, 2))));
  y = unary("gelu", add(matmul(y, weights(p, {400, 72}, 400, 3)), constant(p, noise({72}, 4))));
  return unary("tanh", matmul(y, weights(p, {72, 30}, 72, 5)));
}

Var encoder(Program& p, const Shape& sample) {
  const Var x = input(p, sample);
  const int64_t n = sample[1];
  const auto linear = [&](Var v, int64_t from, int64_t to, uint32_t seed) {
    return matmul(v, weights(p, {from, to}, from, seed), constant(p, noise({to}, seed + 1)));
  };
  const auto norm = [&](Var v, uint32_t seed) {
    return layer_norm(v, constant(p, noise({n}, seed)), constant(p, noise({n}, seed + 1)), 1e-5);
  };
  const Var mixed = attention(linear(x, n, n, 1), linear(x, n, n, 3), linear(x, n, n, 5), {}, 4);
  const Var y = norm(add(linear(mixed, n, n, 7), x), 9);
  const Var z = norm(add(linear(unary("gelu", linear(y, n, 3 * n, 11)), 3 * n, n, 13), y), 15);
  return softmax(linear(z, n, 20, 17), -1);
}

Var recurrent(Program& p, const Shape& sample, std::string_view kind, int64_t gates) {
  const int64_t hidden = 48;
  const Var y =
      apply(kind,
            {input(p, sample), weights(p, {2, gates * hidden, sample[1]}, sample[1], 1),
             weights(p, {2, gates * hidden, hidden}, hidden, 2),
             constant(p, noise({2, 2 * gates * hidden}, 3))},
            {{"hidden_size", hidden}, {"direction", "bidirectional"}, {"layout", int64_t{1}}});
  return matmul(reshape(y, {0, 0, -1}), weights(p, {2 * hidden, 9}, 2 * hidden, 4));
}

/// Integers between two steps.
Var integers(Program& p, const Shape& sample) {
  const auto zero = [&] { return constant(p, t<uint8_t>({}, {120})); };
  const auto scale = [&](float s) { return constant(p, f(s)); };
  const auto layer = [&](Var q, int64_t from, int64_t to, float step, uint32_t seed) {
    Tensor w(DType::i8, {to, from, 3, 3});
    const Tensor some = noise(w.shape(), seed);
    for (int64_t k = 0; k < w.numel(); ++k)
      w.data<int8_t>()[k] = static_cast<int8_t>(127 * some.data<float>()[k]);
    const Var v = apply("dequantize", {q, scale(step), zero()}, Attrs{});
    const Var u = apply("dequantize", {constant(p, w), scale(0.001F)}, Attrs{});
    const Var y =
        unary("relu", conv(v, u, constant(p, noise({to}, seed + 1)), {.pads = {1, 1, 1, 1}}));
    return apply("quantize", {y, scale(step), zero()}, Attrs{});
  };
  Var q = apply("quantize", {input(p, sample), scale(0.01F), zero()}, Attrs{});
  q = layer(layer(q, sample[0], 40, 0.01F, 1), 40, 24, 0.01F, 3);
  return apply("dequantize", {q, scale(0.01F), zero()}, Attrs{});
}

}  // namespace

Tensor SmallNetwork::input(int64_t batch, uint32_t seed) const {
  Shape shape{batch};
  for (int64_t d : sample) shape.push_back(d);
  return noise(shape, seed);
}

std::vector<SmallNetwork> small_networks() {
  std::vector<SmallNetwork> all;
  const auto make = [&](std::string name, const Shape& sample, auto&& build) {
    SmallNetwork n{std::move(name), {}, sample};
    n.program.outputs = {build(n.program, sample).id};
    all.push_back(std::move(n));
  };
  make("picture", {3, 64, 64}, picture);
  make("layers", {120}, layers);
  make("encoder", {26, 64}, encoder);
  make("gru", {19, 40}, [](Program& p, const Shape& s) { return recurrent(p, s, "gru", 3); });
  make("lstm", {19, 40}, [](Program& p, const Shape& s) { return recurrent(p, s, "lstm", 4); });
  make("integers", {16, 20, 20}, integers);
  return all;
}

}  // namespace hub
