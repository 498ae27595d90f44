// The CPU device's own products, Winograd's convolution and what chooses them.
#include <catch2/catch.hpp>

#include "runtime/device/onednn/kernels_gemm.h"
#include "runtime/device/onednn/kernels_winograd.h"
#include "runtime/device/onednn/onednn.h"
#include "runtime/device/onednn/panels.h"
#include "runtime/passes/passes.h"
#include "runtime/runtime.h"
#include "tests/runtime/op_cases.h"
#include "tests/runtime/plain_run.h"

namespace hub {
namespace {

std::vector<float> numbers(int64_t count, int seed) {
  std::vector<float> v(static_cast<size_t>(count));
  for (size_t i = 0; i < v.size(); ++i)
    v[i] = static_cast<float>((i * 37 + static_cast<size_t>(seed) * 11) % 61) / 30 - 1;
  return v;
}

/// How the device runs the convolution x * w.
std::string implementation(const Shape& x, const Shape& w, const Shape& y, Attrs attrs = {}) {
  const Tensor weights = noise(w);
  OpCall call;
  call.op = find_op("conv");
  call.attrs = std::move(attrs);
  const Operand in[] = {{{DType::f32, x}, nullptr, nullptr, true},
                        {{DType::f32, w}, nullptr, &weights, true}};
  const Spec out[] = {{DType::f32, y}};
  return open_device("cpu").prepare(call, in, out).how;
}

struct Layer {
  int64_t in, out, height, width, batch = 1;
  std::vector<int64_t> pads = {1, 1, 1, 1};
  bool bias = true, residual = false;
  std::string step = {};
  int64_t kernel = 3, stride = 1, dilation = 1;

  Conv options() const {
    return {.strides = {stride, stride}, .pads = pads, .dilations = {dilation, dilation}};
  }
};

/// One convolution with what follows it, and its input.
std::pair<Program, Tensor> network(const Layer& l) {
  Program p;
  const Var x{&p, p.add_input("x", {DType::f32, {-1, l.in, -1, -1}})};
  const Shape weights{l.out, l.in, l.kernel, l.kernel};
  Var y = conv(x, constant(p, noise(weights, 3)), l.bias ? constant(p, noise({l.out}, 5)) : Var{},
               l.options());
  if (l.residual) y = add(y, unary("tanh", y));
  if (l.residual) y = add(y, conv(x, constant(p, noise(weights, 9)), {}, l.options()));
  if (!l.step.empty()) y = unary(l.step, y);
  p.outputs = {y.id};
  return {std::move(p), noise({l.batch, l.in, l.height, l.width}, 7)};
}

}  // namespace

TEST_CASE("products with packed weights") {
  using namespace onednn;
  for (const auto [m, n, k] : {std::array<int64_t, 3>{1, 48, 7},
                               {1, 5, 64},
                               {2, 33, 9},
                               {7, 96, 31},
                               {13, 100, 16},
                               {25, 32, 40},
                               {50, 47, 3}}) {
    CAPTURE(m, n, k);
    const auto a = numbers(m * (k + 3), 1), b = numbers(k * n, 2);
    std::vector<float> packed(static_cast<size_t>(packed_size(k, n)) + 1024);
    for (const bool transposed : {false, true}) {
      const int64_t row = transposed ? 1 : n, column = transposed ? k : 1;
      pack_panels(b.data(), k, n, row, column, packed.data());
      std::vector<float> back(b.size());
      unpack_panels(packed.data(), k, n, row, column, back.data());
      CHECK(back == b);
      for (const bool add : {false, true}) {
        std::vector<float> c(static_cast<size_t>(m * (n + 2)), 1.0F);
        gemm_panels(m, n, k, a.data(), k + 3, packed.data(), c.data(), n + 2, add);
        double worst = 0;
        for (int64_t i = 0; i < m; ++i) {
          for (int64_t j = 0; j < n + 2; ++j) {
            double sum = j < n && !add ? 0 : 1;
            for (int64_t p = 0; j < n && p < k; ++p)
              sum += static_cast<double>(a[static_cast<size_t>(i * (k + 3) + p)]) *
                     b[static_cast<size_t>(p * row + j * column)];
            worst = std::max(worst, std::fabs(sum - c[static_cast<size_t>(i * (n + 2) + j)]));
          }
        }
        CHECK(worst < 1e-5);
      }
    }
  }
}

TEST_CASE("products of few rows on any number of threads") {
  const int before = threads();
  for (const int64_t n : {5, 48, 100, 160, 192, 224, 1000}) {
    Program p;
    const Var x{&p, p.add_input("x", {DType::f32, {-1, 60}})};
    const Var y = matmul(x, constant(p, noise({60, n}, 2)));
    p.outputs = {unary("relu", add(y, constant(p, noise({n}, 3)))).id};
    const Tensor in = noise({40, 60}, 4);
    const auto wanted = plain_run(p, {in});
    for (const int team : {1, 2, 3, 4}) {
      CAPTURE(n, team);
      set_threads(team);
      CHECK(difference(Session(p).run({in})[0], wanted[0]) < 1e-5);
    }
  }
  set_threads(before);
}

TEST_CASE("weights come back out of Winograd's form") {
  for (const auto& [in, out] : {std::pair<int64_t, int64_t>{32, 48}, {20, 24}}) {
    const auto w = numbers(out * in * 9, 4);
    const onednn::WinogradWeights layout(in, out, onednn::channel_block());
    std::vector<float> packed(layout.bytes() / sizeof(float)), back(w.size());
    layout.pack(w.data(), packed.data());
    layout.unpack(packed.data(), back.data());
    double worst = 0;
    for (size_t i = 0; i < w.size(); ++i)
      worst = std::max(worst, static_cast<double>(std::fabs(w[i] - back[i])));
    CHECK(worst < 1e-6);
    const LayoutPtr again = onednn::Packing::restore(layout.save());
    REQUIRE(again);
    CHECK(again->same(layout));
    CHECK(again->bytes() == layout.bytes());
  }
  for (const char* bad : {"", "panels", "winograd", "winograd12345678"})
    CHECK(!onednn::Packing::restore(bad));
}

TEST_CASE("Winograd's convolution gives the direct one's numbers") {
  const Layer layers[] = {
      {.in = 32, .out = 32, .height = 28, .width = 28},
      {.in = 48, .out = 40, .height = 31, .width = 26, .batch = 2},
      {.in = 96, .out = 24, .height = 33, .width = 37, .step = "sigmoid"},
      {.in = 40, .out = 64, .height = 30, .width = 40, .pads = {0, 2, 1, 0}},
      {.in = 64, .out = 64, .height = 56, .width = 9, .bias = false},
      {.in = 32, .out = 36, .height = 40, .width = 40, .residual = true, .step = "relu"}};
  for (const Layer& l : layers) {
    CAPTURE(l.in, l.out, l.height, l.width, l.step);
    CHECK(implementation({l.batch, l.in, l.height, l.width}, {l.out, l.in, 3, 3},
                         {l.batch, l.out, l.height + l.pads[0] + l.pads[2] - 2,
                          l.width + l.pads[1] + l.pads[3] - 2},
                         {{"pads", l.pads}}) == "winograd");
    const auto [program, x] = network(l);
    const auto wanted = plain_run(program, {x});
    Session session(program);
    for (int round = 0; round < 2; ++round)
      CHECK(difference(session.run({x})[0], wanted[0]) < 1e-3);
  }
}

TEST_CASE("a convolution onto a small picture is a product with packed weights") {
  const Layer layers[] = {
      {.in = 64, .out = 160, .height = 7, .width = 7, .pads = {0, 0, 0, 0}, .kernel = 1},
      {.in = 32, .out = 48, .height = 14, .width = 13, .step = "relu", .stride = 2},
      {.in = 48, .out = 96, .height = 7, .width = 9, .residual = true, .step = "hard_swish"},
      {.in = 16, .out = 32, .height = 9, .width = 8, .pads = {0, 2, 1, 0}, .bias = false},
      {.in = 16, .out = 16, .height = 5, .width = 6, .pads = {2, 2, 2, 2}, .dilation = 2}};
  const int before = threads();
  for (const Layer& l : layers) {
    const auto [program, x] = network(l);
    const Tensor wanted = plain_run(program, {x})[0];
    CHECK(implementation(x.shape(), {l.out, l.in, l.kernel, l.kernel}, wanted.shape(),
                         {{"pads", l.pads},
                          {"strides", std::vector<int64_t>(2, l.stride)},
                          {"dilations", std::vector<int64_t>(2, l.dilation)}}) == "panels");
    for (const int team : {1, 2, 3}) {
      CAPTURE(l.in, l.out, l.height, l.width, l.step, team);
      set_threads(team);
      Session session(program);
      CHECK(difference(session.run({x})[0], wanted) < 1e-4);
    }
  }
  set_threads(before);
}

TEST_CASE("a picture gives the same in a batch and alone, on one thread and on four") {
  const Layer l{.in = 32, .out = 48, .height = 29, .width = 30, .batch = 3, .step = "swish"};
  const auto [program, x] = network(l);
  const int before = threads();
  set_threads(1);
  const Tensor one = Session(program).run({x})[0];
  for (const int team : {2, 4}) {
    set_threads(team);
    CHECK(difference(Session(program).run({x})[0], one) < 1e-5);
  }
  Session session(program);
  const int64_t in = x.numel() / 3, out = one.numel() / 3;
  for (int64_t i = 0; i < 3; ++i) {
    const Tensor alone(DType::f32, {1, l.in, l.height, l.width}, x.owner(),
                       x.data<float>() + i * in);
    const Tensor part(DType::f32, {1, l.out, l.height, l.width}, one.owner(),
                      one.data<float>() + i * out);
    CHECK(difference(session.run({alone})[0], part) < 1e-5);
  }
  set_threads(before);
}

TEST_CASE("no convolution of a usual network runs by oneDNN's reference loops") {
  for (const int64_t channels : {1, 3, 5, 12, 15, 17, 24, 40}) {
    for (const int64_t kernel : {1, 3}) {
      CAPTURE(channels, kernel);
      CHECK_THAT(implementation({1, channels, 20, 20}, {32, channels, kernel, kernel},
                                {1, 32, 21 - kernel, 21 - kernel}),
                 !Catch::StartsWith("ref"));
    }
  }
}

TEST_CASE("zeros around a picture become the convolution's own") {
  const auto text = [](const std::vector<int64_t>& pads, Attrs attrs, float fill) {
    Program p;
    const Var x{&p, p.add_input("x", {DType::f32, {1, 2, 6, 6}})};
    const Var wide =
        apply("pad", {x, constant(p, Tensor::ints(pads)), constant(p, Tensor::scalar(fill))});
    const Var y = apply("conv", {wide, constant(p, noise({3, 2, 3, 3}))}, std::move(attrs));
    p.outputs = {y.id};
    fold_pad(p);
    remove_dead(p);
    return to_text(p);
  };
  using ints = std::vector<int64_t>;
  const ints around = {0, 0, 1, 2, 0, 0, 3, 0};
  CHECK_THAT(text(around, {}, 0), !Catch::Contains("pad("));
  CHECK_THAT(text(around, {}, 0), Catch::Contains("pads=[1, 2, 3, 0]"));
  CHECK_THAT(text(around, {{"pads", ints{1, 1, 1, 1}}}, 0), Catch::Contains("pads=[2, 3, 4, 1]"));
  CHECK_THAT(text(around, {{"auto_pad", "valid"}}, 0), Catch::Contains("pads=[1, 2, 3, 0]"));
  // Not these: other numbers, more channels, cut edges, pads that follow from the size.
  CHECK_THAT(text(around, {}, 1), Catch::Contains("pad("));
  CHECK_THAT(text({0, 1, 0, 0, 0, 0, 0, 0}, {}, 0), Catch::Contains("pad("));
  CHECK_THAT(text({0, 0, -1, 0, 0, 0, 0, 0}, {}, 0), Catch::Contains("pad("));
  CHECK_THAT(text(around, {{"auto_pad", "same_upper"}}, 0), Catch::Contains("pad("));
}

TEST_CASE("a program whose shapes depend on numbers runs in stages") {
  // The rows of a product that are above zero, each through another product.
  Program p;
  const Var x{&p, p.add_input("x", {DType::f32, {-1, 16}})};
  const Var y = matmul(x, constant(p, noise({16, 300}, 1)));
  const Var first = apply("gather", {y, constant(p, Tensor::ints({0}))}, {{"axis", int64_t{1}}});
  const Var above = apply("greater", {first, constant(p, Tensor::scalar(0))});
  const Var rows = apply("gather", {apply("nonzero", {above}), constant(p, Tensor::ints({0}))},
                         {{"axis", int64_t{0}}});
  const Var flat = apply("reshape", {rows, constant(p, Tensor::ints({-1}))});
  const Var some = apply("gather", {y, flat}, {{"axis", int64_t{0}}});
  p.outputs = {matmul(some, constant(p, noise({300, 40}, 2))).id, flat.id};
  Session session(p);
  for (const int seed : {1, 2, 3, 1}) {
    const Tensor in = noise({12 + seed, 16}, seed);
    const auto wanted = plain_run(p, {in}), got = session.run({in});
    REQUIRE(got[0].shape()[0] > 0);
    CHECK(difference(got[0], wanted[0]) < 1e-5);
    CHECK(difference(got[1], wanted[1]) == 0);
  }
}

}  // namespace hub
