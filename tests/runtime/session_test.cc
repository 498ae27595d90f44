// Passes, plans and packs: a program gives the same numbers whatever is folded, fused, placed or
// kept on disk.
#include "runtime/session.h"

#include <catch2/catch.hpp>

#include "base/file.h"
#include "runtime/arena.h"
#include "runtime/passes/passes.h"
#include "runtime/runtime.h"
#include "tests/error_of.h"
#include "tests/runtime/op_cases.h"
#include "tests/runtime/plain_run.h"
#include "tests/scratch.h"

namespace hub {
namespace {

Var weights(Program& p, const Shape& shape, uint32_t seed) {
  return constant(p, noise(shape, seed));
}
Var number(Program& p, float v) { return constant(p, f(v)); }
Var positive(Program& p, int64_t n, uint32_t seed) {
  Tensor t = noise({n}, seed);
  for (int64_t k = 0; k < n; ++k) t.data<float>()[k] = 0.5F + std::fabs(t.data<float>()[k]);
  return constant(p, t);
}

/// Convolutions, batch norms, residuals, squeeze-and-excite, exporters' hard swish, a pool, a head:
/// [N, 3, H, W] -> [N, 5].
Program image_network() {
  Program p;
  Var x{&p, p.add_input("x", {DType::f32, {-1, 3, -1, -1}})};
  auto norm = [&](Var v, int64_t c, uint32_t seed) {
    return batch_norm(v, positive(p, c, seed), weights(p, {c}, seed + 1), weights(p, {c}, seed + 2),
                      positive(p, c, seed + 3), 1e-3);
  };
  Var y = conv(x, weights(p, {20, 3, 3, 3}, 1), {}, {.strides = {2, 2}, .auto_pad = "same_upper"});
  y = clip(norm(y, 20, 2), 0, 6);
  Var z = conv(y, weights(p, {20, 1, 3, 3}, 6), weights(p, {20}, 7),
               {.pads = {1, 1, 1, 1}, .group = 20});
  z = mul(z, apply("div", {clip(add(z, number(p, 3)), 0, 6), number(p, 6)}));
  z = add(mul(z, number(p, 0.7F)), number(p, 0.1F));
  z = conv(z, weights(p, {20, 20, 1, 1}, 8), {}, {});
  z = add(norm(z, 20, 9), y);
  Var gate = unary("relu", conv(global_average(z), weights(p, {8, 20, 1, 1}, 13), {}, {}));
  gate =
      apply("hard_sigmoid", {conv(gate, weights(p, {20, 8, 1, 1}, 14), weights(p, {20}, 15), {})});
  z = mul(z, gate);
  z = pool(z, {.kind = "max", .kernel = {2, 2}, .strides = {2, 2}});
  z = reshape(global_average(z), {0, -1});
  p.outputs = {matmul(z, weights(p, {5, 20}, 16), weights(p, {5}, 17), false, true).id};
  return p;
}

/// A transformer block with everything spelled out as exporters do: [B, S, 16] -> the same.
Program text_network() {
  Program p;
  Var x{&p, p.add_input("x", {DType::f32, {-1, -1, 16}})};
  Var mean = apply("reduce_mean", {x, constant(p, i({-1}))});
  Var centred = apply("sub", {x, mean});
  Var variance =
      apply("reduce_mean", {apply("pow", {centred, number(p, 2)}), constant(p, i({-1}))});
  Var y = apply("div", {centred, apply("sqrt", {add(variance, number(p, 1e-5F))})});
  y = add(mul(y, weights(p, {16}, 1)), weights(p, {16}, 2));
  y = add(matmul(y, weights(p, {16, 64}, 3)), weights(p, {64}, 4));
  Var erf = apply("erf", {apply("div", {y, number(p, 1.41421356F)})});
  y = mul(mul(y, add(erf, number(p, 1))), number(p, 0.5F));
  y = add(matmul(y, weights(p, {64, 16}, 5)), x);
  Var gate = mul(y, unary("sigmoid", y));
  p.outputs = {softmax(gate, -1).id};
  return p;
}

/// A residual that is written after the convolution it joins, linear steps in both orders, a scaled
/// product, and transposed convolutions whose windows do not overlap: [N, 6, H, W] -> [N, 1, 4 H, 4
/// W].
Program enlarging_network() {
  Program p;
  Var x{&p, p.add_input("x", {DType::f32, {-1, 6, -1, -1}})};
  Var y = conv(x, weights(p, {20, 6, 1, 1}, 1), {}, {});
  Var late = conv(unary("tanh", x), weights(p, {20, 6, 3, 3}, 2), {}, {.pads = {1, 1, 1, 1}});
  y = unary("relu", add(y, mul(late, late)));
  y = unary("sigmoid",
            mul(add(unary("tanh", conv(y, weights(p, {20, 20, 1, 1}, 3), {}, {})), number(p, 0.3F)),
                number(p, 2)));
  auto enlarge = [&](Var v, int64_t in, int64_t out, uint32_t seed) {
    return apply("conv_transpose",
                 {v, weights(p, {in, out, 2, 2}, seed), weights(p, {out}, seed + 1)},
                 {{"strides", std::vector<int64_t>{2, 2}}});
  };
  y = unary("relu", enlarge(y, 20, 20, 4));
  y = unary("sigmoid", enlarge(y, 20, 1, 6));
  p.outputs = {y.id};
  return p;
}

/// softmax(relu(0.5 a b) + 0.1) with a transposed: [K, M] x [K, N].
Program product_network() {
  Program p;
  Var a{&p, p.add_input("a", {DType::f32, {-1, -1}})};
  Var y = unary("relu", matmul(a, weights(p, {7, 9}, 1), {}, true, false, 0.5));
  p.outputs = {softmax(add(y, number(p, 0.1F)), -1).id};
  return p;
}

std::map<std::string, int> count_ops(const Program& p) {
  std::map<std::string, int> n;
  for (const OpCall& c : p.ops) ++n[std::string(c.op->name)];
  return n;
}

}  // namespace

TEST_CASE("one session serves any batch and size, with the numbers of the plain program") {
  const Program p = image_network();
  for (const std::string device : {"cpu", "reference"}) {
    Session session(p, {.device = device, .pack_file = {}});
    // More shapes than plans are kept, and the first again.
    for (const Shape& s :
         {Shape{1, 3, 32, 32}, Shape{2, 3, 17, 40}, Shape{1, 3, 8, 8}, Shape{3, 3, 33, 9},
          Shape{1, 3, 64, 16}, Shape{2, 3, 16, 16}, Shape{1, 3, 24, 25}, Shape{1, 3, 40, 41},
          Shape{5, 3, 10, 12}, Shape{1, 3, 11, 13}, Shape{1, 3, 32, 32}}) {
      INFO(device << " " << s.str());
      const Tensor x = noise(s, 99);
      CHECK(difference(session.run({x})[0], plain_run(p, {x})[0]) < 1e-5);
      CHECK(session.memory().arena >= session.memory().live);
      CHECK(session.memory().arena <= session.memory().sum);
    }
  }
  const Program large = enlarging_network();
  Session enlarging(large);
  for (const Shape& s : {Shape{1, 6, 8, 8}, Shape{3, 6, 5, 9}, Shape{1, 6, 1, 1}}) {
    const Tensor x = noise(s, 6);
    CHECK(difference(enlarging.run({x})[0], plain_run(large, {x})[0]) < 1e-5);
  }
  const Program product = product_network();
  Session multiplying(product);
  const Tensor a = noise({7, 5}, 8);
  CHECK(difference(multiplying.run({a})[0], plain_run(product, {a})[0]) < 1e-6);
  const Program text = text_network();
  Session session(text);
  for (const Shape& s : {Shape{1, 7, 16}, Shape{3, 1, 16}, Shape{2, 130, 16}}) {
    const Tensor x = noise(s, 5);
    CHECK(difference(session.run({x})[0], plain_run(text, {x})[0]) < 1e-5);
  }
}

TEST_CASE("constants fold into weights, and spelled-out operators are found again") {
  Program p = image_network();
  optimize(p);
  CHECK(count_ops(p)["batch_norm"] == 0);
  std::vector<Spec> specs;
  REQUIRE(specialize(p, {{DType::f32, {1, 3, 32, 32}}}, specs));
  const auto image = count_ops(p);
  CHECK(image.at("conv") == 5);
  for (const char* gone : {"clip", "div", "add", "hard_swish", "relu", "hard_sigmoid"})
    CHECK(!image.contains(gone));
  CHECK(image.at("mul") == 1);  // the gate

  Program t = text_network();
  optimize(t);
  REQUIRE(specialize(t, {{DType::f32, {2, 9, 16}}}, specs));
  const auto text = count_ops(t);
  CHECK(text == std::map<std::string, int>{{"layer_norm", 1}, {"matmul", 2}, {"softmax", 1}});
}

TEST_CASE("a shape that depends on computed numbers is found while running") {
  Program p;
  const Var x{&p, p.add_input("x", {DType::f32, {-1}})};
  const Var at = apply("nonzero", {x});
  p.outputs = {apply("gather", {x, reshape(at, {-1})}, {{"axis", int64_t{0}}}).id};
  Session session(p);
  const Tensor y = session.run({f({5}, {0, 2, 0, -1, 3})})[0];
  CHECK(y.to_floats() == std::vector<float>{2, -1, 3});
  CHECK(session.run({f({2}, {0, 0})})[0].shape() == Shape{0});
}

TEST_CASE("inputs are checked against what is declared") {
  Session session(image_network());
  const auto wrong = [&](const std::vector<Tensor>& in) {
    return error_of(Code::usage, [&] { session.run(in); });
  };
  CHECK(wrong({}) == "the network takes 1 inputs; 0 were given");
  CHECK(wrong({noise({1, 4, 8, 8})}) ==
        "input 'x' is float32[1, 4, 8, 8]; float32[?, 3, ?, ?] is wanted");
  CHECK(wrong({i({1, 3, 1, 1}, {1, 2, 3})}).find("int64[1, 3, 1, 1]; float32") !=
        std::string::npos);
  CHECK(error_of(Code::usage, [&] { session.input_index("y"); }) ==
        "there is no input 'y'; wanted 'x'");
  CHECK(error_of(Code::usage, [] {
          Session s(image_network(), {.device = "tpu", .pack_file = {}});
        }) == "there is no device 'tpu'; wanted 'cpu' or 'reference'");
}

TEST_CASE("a pack gives the same numbers and survives damage") {
  const Scratch scratch;
  const SessionOptions options{.device = "cpu", .pack_file = scratch / "main.plan"};
  const Tensor x = noise({1, 3, 32, 32}, 3);
  const Tensor other = noise({2, 3, 48, 20}, 4);
  CHECK(Session::load(options) == nullptr);
  Session first(image_network(), options);
  const auto wanted = first.run({x});
  const auto wanted_other = first.run({other});
  const auto second = Session::load(options);
  REQUIRE(second != nullptr);
  CHECK(second->program()[second->program().inputs[0]].declared.str() == "float32[?, 3, ?, ?]");
  CHECK(difference(second->run({x})[0], wanted[0]) == 0);
  CHECK(difference(second->run({other})[0], wanted_other[0]) < 1e-6);

  const std::string bytes = read_file(options.pack_file);
  for (const size_t keep :
       {size_t{0}, size_t{7}, size_t{60}, size_t{200}, bytes.size() / 2, bytes.size() - 1}) {
    scratch.put("main.plan", bytes.substr(0, keep));
    CHECK(Session::load(options) == nullptr);
  }
  for (const size_t at : {size_t{3}, size_t{9}, size_t{40}, size_t{100}, size_t{400}}) {
    std::string bad = bytes;
    bad[at] = static_cast<char>(bad[at] ^ 0x11);
    scratch.put("main.plan", bad);
    CHECK(Session::load(options) == nullptr);
  }
  // A place that cannot be written to costs nothing but time.
  Session nowhere(image_network(),
                  {.device = "cpu", .pack_file = scratch / "no/such/folder/x.plan"});
  CHECK(difference(nowhere.run({x})[0], wanted[0]) == 0);
}

TEST_CASE("boxes that live at the same time never overlap") {
  uint32_t state = 1;
  auto next = [&](uint32_t below) {
    state = state * 1664525 + 1013904223;
    return (state >> 8) % below;
  };
  for (int round = 0; round < 200; ++round) {
    std::vector<Box> boxes;
    for (uint32_t k = 0; k < 2 + next(40); ++k) {
      const int first = static_cast<int>(next(30));
      boxes.push_back({first, first + static_cast<int>(next(6)), 1 + next(5000), 0});
    }
    const ArenaSize size = place_boxes(boxes);
    CHECK(size.live <= size.arena);
    CHECK(size.arena <= size.sum);
    for (size_t a = 0; a < boxes.size(); ++a) {
      CHECK(boxes[a].offset % 64 == 0);
      CHECK(boxes[a].offset + boxes[a].bytes <= size.arena);
      for (size_t b = 0; b < a; ++b) {
        const bool together = boxes[a].first <= boxes[b].last && boxes[b].first <= boxes[a].last;
        const bool apart = boxes[a].offset + boxes[a].bytes <= boxes[b].offset ||
                           boxes[b].offset + boxes[b].bytes <= boxes[a].offset;
        CHECK((!together || apart));
      }
    }
  }
}

}  // namespace hub
