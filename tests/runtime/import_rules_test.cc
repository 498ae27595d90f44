// Import rules of the neural-network operators where formats and versions differ: one node, run by
// the reference kernels.
#include <catch2/catch.hpp>

#include "runtime/import/node.h"
#include "tests/runtime/op_cases.h"
#include "tests/runtime/plain_run.h"

using namespace hub;

namespace {

using ints = std::vector<int64_t>;
using Slots = std::vector<std::pair<std::string, std::vector<Tensor>>>;

/// The output `out` of a Paddle node; the first slot is an input of the program, the others are
/// constants.
Tensor paddle(const std::string& type, const Attrs& attrs, const Slots& slots,
              const std::string& out = "Out", int version = 2004001) {
  Program p;
  ImportNode n(p, type, "node", version);
  n.attrs = attrs;
  const Tensor& x = slots[0].second[0];
  n.slots_[slots[0].first] = {Var{&p, p.add_input("x", x.spec())}};
  for (size_t i = 1; i < slots.size(); ++i) {
    for (const Tensor& t : slots[i].second) n.slots_[slots[i].first].push_back(constant(p, t));
  }
  REQUIRE(find_import("paddle:" + type) != nullptr);
  find_import("paddle:" + type)->make(n);
  p.outputs = {n.out_slots_.at(out)[0].id};
  return plain_run(p, {x})[0];
}

Tensor onnx(const std::string& type, int version, const Attrs& attrs,
            const std::vector<Tensor>& in) {
  Program p;
  ImportNode n(p, type, "node", version);
  n.attrs = attrs;
  n.wanted_outputs = 1;
  n.positional_ = {Var{&p, p.add_input("x", in[0].spec())}};
  for (size_t i = 1; i < in.size(); ++i)
    n.positional_.push_back(in[i] ? constant(p, in[i]) : Var{});
  find_import("onnx:" + type)->make(n);
  p.outputs = {n.out_positional_.at(0).id};
  return plain_run(p, {in[0]})[0];
}

/// Sixteenths, as the script had them that computed the results; the weights are quarters of them.
Tensor wave(const Shape& shape, int64_t seed, float scale = 0.25F) {
  Tensor t(DType::f32, shape);
  for (int64_t k = 0; k < t.numel(); ++k) {
    t.data<float>()[k] = scale * static_cast<float>((k * 37 + seed * 11) % 61 - 30) / 16;
  }
  return t;
}

void check(const Tensor& found, const Tensor& wanted) {
  CAPTURE(found.spec().str(), found.to_floats(), wanted.to_floats());
  CHECK(difference(found, wanted) < 2e-6);
}

const Tensor square = f({1, 1, 2, 2}, {1, 2, 3, 4});
const Tensor line = f({1, 1, 1, 4}, {0, 10, 20, 30});

}  // namespace

TEST_CASE(
    "Paddle windows: pads in pairs, SAME without dilations, exclusive means, adaptive sizes") {
  const Slots ones{{"Input", {square}}, {"Filter", {f({1, 1, 2, 2}, {1, 1, 1, 1})}}};
  check(
      paddle("conv2d", {{"padding_algorithm", "SAME"}, {"dilations", ints{3, 3}}}, ones, "Output"),
      f({1, 1, 2, 2}, {10, 6, 7, 4}));
  check(paddle("depthwise_conv2d", {{"paddings", ints{1, 0, 0, 0}}}, ones, "Output"),
        f({1, 1, 2, 1}, {3, 10}));
  check(paddle("conv2d_transpose", {{"strides", ints{2, 2}}, {"paddings", ints{1, 1}}}, ones,
               "Output"),
        f({1, 1, 2, 2}, {1, 2, 3, 4}));
  const Slots x{{"X", {square}}};
  Attrs mean{{"pooling_type", "avg"},
             {"ksize", ints{2, 2}},
             {"strides", ints{2, 2}},
             {"paddings", ints{1, 1}}};
  check(paddle("pool2d", mean, x), square);
  mean.set("exclusive", int64_t{0});
  check(paddle("pool2d", mean, x), f({1, 1, 2, 2}, {0.25F, 0.5F, 0.75F, 1}));
  mean.set("adaptive", int64_t{1});
  mean.set("ksize", ints{1, 1});
  check(paddle("pool2d", mean, x), f({1, 1, 1, 1}, {2.5F}));
  mean.set("ksize", ints{1, 2});
  check(paddle("pool2d", mean, x), f({1, 1, 1, 2}, {2, 3}));
  mean.set("data_format", "NCWH");
  CHECK_THROWS_WITH(paddle("pool2d", mean, x),
                    Catch::Contains("pool2d node 'node'") && Catch::Contains("NCWH"));
}

TEST_CASE("Paddle programs mean what their version meant") {
  const Slots x{{"X", {f({2}, {1, 3})}}};
  const Attrs all{{"reduce_all", int64_t{1}}};
  check(paddle("reduce_sum", all, x), f({1}, {4}));
  check(paddle("mean", {}, x, "Out", 1006003), f({1}, {2}));
  check(paddle("reduce_sum", all, x, "Out", 2005000), f(4));
  check(paddle("mean", {}, x, "Out", 0), f(2));
  const Slots one{{"Input", {f({2}, {1, 3})}}};
  const Attrs last{
      {"axes", ints{0}}, {"starts", ints{1}}, {"ends", ints{2}}, {"decrease_axis", ints{0}}};
  check(paddle("slice", last, one), f({1}, {3}));
  check(paddle("slice", last, one, "Out", 2006000), f(3));
  const Slots pair{{"X", {i({-7})}}, {"Y", {i({2})}}};
  check(paddle("elementwise_floordiv", {}, pair, "Out", 2006000), i({-4}));
  CHECK_THROWS_WITH(paddle("elementwise_floordiv", {}, pair), Catch::Contains("2004001"));
}

TEST_CASE("Paddle interpolation: where the ratio comes from and how it is aligned") {
  const Slots x{{"X", {line}}};
  const Tensor asymmetric =
      f({1, 1, 1, 7}, {0, 40 / 7.F, 80 / 7.F, 120 / 7.F, 160 / 7.F, 200 / 7.F, 30});
  auto by_size = [&](int64_t corners, int64_t mode) {
    return Attrs{{"out_h", int64_t{1}},
                 {"out_w", int64_t{7}},
                 {"align_corners", corners},
                 {"align_mode", mode}};
  };
  check(paddle("bilinear_interp_v2", by_size(1, 1), x),
        f({1, 1, 1, 7}, {0, 5, 10, 15, 20, 25, 30}));
  check(paddle("bilinear_interp_v2", by_size(0, 1), x), asymmetric);
  check(paddle("bilinear_interp_v2", by_size(0, 0), x),
        f({1, 1, 1, 7}, {0, 25 / 7.F, 65 / 7.F, 15, 145 / 7.F, 185 / 7.F, 30}));
  Attrs scaled{{"scale", std::vector<double>{1.0, 1.9}},
               {"align_corners", int64_t{0}},
               {"align_mode", int64_t{1}}};
  check(paddle("bilinear_interp_v2", scaled, x),
        f({1, 1, 1, 7}, {0, 5.2631579F, 10.526316F, 15.789474F, 21.052632F, 26.315789F, 30}));
  scaled.set("scale", std::vector<double>{1.9});
  check(paddle("bilinear_interp", scaled, x), asymmetric);
  Slots sized = x;
  sized.emplace_back("OutSize", std::vector<Tensor>{t<int32_t>({2}, {1, 2})});
  check(paddle("nearest_interp_v2", by_size(0, 1), sized), f({1, 1, 1, 2}, {0, 20}));
  check(paddle("nearest_interp", by_size(1, 1), sized), f({1, 1, 1, 2}, {0, 30}));
}

TEST_CASE("Paddle products and norms flatten their operands") {
  const Tensor x = f({1, 2, 2}, {1, 2, 3, 4});
  check(paddle("mul", {{"x_num_col_dims", int64_t{2}}}, {{"X", {x}}, {"Y", {f({2, 1}, {1, 10})}}}),
        f({1, 2, 1}, {21, 43}));
  check(paddle("mul", {{"y_num_col_dims", int64_t{2}}},
               {{"X", {x}}, {"Y", {f({2, 2, 1}, {1, 10, 100, 1000})}}}),
        f({1, 1}, {4321}));
  check(paddle("matmul", {{"alpha", 0.5}, {"transpose_Y", int64_t{1}}},
               {{"X", {x}}, {"Y", {f({1, 2}, {1, 10})}}}),
        f({1, 2, 1}, {10.5F, 21.5F}));
  check(paddle("layer_norm", {{"begin_norm_axis", int64_t{1}}, {"epsilon", 0.01}},
               {{"X", {wave({2, 2, 2}, 1, 1)}},
                {"Scale", {f({4}, {1, 2, 3, 4})}},
                {"Bias", {f({4}, {0, 1, 0, 1})}}},
               "Y"),
        f({2, 2, 2}, {-0.54313755F, 4.03599954F, 0.54313754F, -3.62363243F, 0.40026736F,
                      -1.69270778F, 4.03906167F, -0.60106945F}));
  check(paddle("leaky_relu", {}, {{"X", {f({1}, {-1})}}}), f({1}, {-0.02F}));
}

TEST_CASE("Paddle's rnn keeps its weights apart and its gates in another order") {
  const Tensor x = wave({2, 1, 2}, 1, 1);
  const Slots lstm{{"Input", {x}},
                   {"WeightList",
                    {wave({4, 2}, 2), wave({4, 1}, 3), wave({4, 2}, 4), wave({4, 1}, 5),
                     wave({4}, 6), wave({4}, 7), wave({4}, 8), wave({4}, 9)}}};
  check(paddle("rnn", {{"mode", "LSTM"}, {"is_bidirec", int64_t{1}}}, lstm),
        f({2, 1, 2}, {-0.18739191F, 0.20497337F, -0.12409307F, 0.02010458F}));
  const Slots gru{{"Input", {x}},
                  {"WeightList", {wave({3, 2}, 2), wave({3, 1}, 3), wave({3}, 6), wave({3}, 7)}}};
  check(paddle("rnn", {{"mode", "GRU"}}, gru), f({2, 1, 1}, {-0.26388792F, -0.23248601F}));
}

TEST_CASE("ONNX operators that changed their meaning") {
  const Tensor x = f({2, 2, 2}, {1, 2, 3, 4, 0, 0, 0, 0});
  check(onnx("Softmax", 11, {}, {x}),
        f({2, 2, 2}, {0.0320586F, 0.0871443F, 0.2368828F, 0.6439143F, 0.25F, 0.25F, 0.25F, 0.25F}));
  check(onnx("Softmax", 13, {}, {x}),
        f({2, 2, 2}, {0.2689414F, 0.7310586F, 0.2689414F, 0.7310586F, 0.5F, 0.5F, 0.5F, 0.5F}));
  const Tensor four = f({1, 1, 1, 4}, {1, 2, 3, 4});
  check(onnx("Resize", 10, {}, {four, f({4}, {1, 1, 1, 0.6F})}), f({1, 1, 1, 2}, {1, 3}));
  check(onnx("Upsample", 7, {{"scales", std::vector<double>{1, 1, 1, 1.5}}}, {four}),
        f({1, 1, 1, 6}, {1, 1, 2, 3, 3, 4}));
  check(onnx("PRelu", 6, {}, {f({1, 2, 1, 2}, {-1, -1, -1, -1}), f({2}, {2, 3})}),
        f({1, 2, 1, 2}, {-2, -2, -3, -3}));
}

TEST_CASE("Gemm: a constant row is a bias, anything else is added") {
  const Tensor a = f({1, 2}, {1, 2});
  const Tensor b = f({2, 2}, {1, 2, 3, 4});
  const Attrs attrs{{"transB", int64_t{1}}, {"alpha", 2.0}, {"beta", 0.5}};
  check(onnx("Gemm", 13, attrs, {a, b}), f({1, 2}, {10, 22}));
  check(onnx("Gemm", 13, attrs, {a, b, f({2}, {2, 4})}), f({1, 2}, {11, 24}));
  check(onnx("Gemm", 13, attrs, {a, b, f({1, 1}, {2})}), f({1, 2}, {11, 23}));
  check(onnx("Gemm", 13, {}, {a, b, f({1, 2}, {1, 2})}), f({1, 2}, {8, 12}));
}
