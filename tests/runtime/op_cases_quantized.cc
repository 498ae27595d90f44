// Rows for products of small integers. The first is onnx's own for QLinearConv (y = 255 - x), the
// others were worked out with NumPy.
#include "tests/runtime/op_cases.h"

namespace hub {

std::vector<OpCase> quantized_cases() {
  std::vector<OpCase> c;
  auto u8 = [](std::initializer_list<uint8_t> v) { return t<uint8_t>({1, 1, 3, 3}, v); };
  c.push_back({"quantized_conv",
               {},
               {u8({255, 174, 162, 25, 203, 168, 58, 0, 10}), f(.00369204697F),
                t<uint8_t>({}, {132}), t<uint8_t>({1, 1, 1, 1}, {0}), f(.00172794575F),
                t<uint8_t>({}, {255}), f(.00162681262F), t<uint8_t>({}, {123})},
               {u8({0, 81, 93, 230, 52, 87, 197, 255, 245})}});

  const Tensor x = t<uint8_t>({1, 2, 3, 3}, {207, 21, 45, 60, 46, 205, 222, 149, 10, 24, 85, 110,
                                             159, 122, 67, 40, 177, 188});
  const Tensor w = t<int8_t>(
      {4, 1, 2, 2}, {-120, -99, -13, -28, 99, 4, -21, -18, 42, 22, -84, 60, 65, 116, 73, -56});
  const Tensor w_scale = f({4}, {.01F, .02F, .03F, .04F});
  const Tensor bias = t<int32_t>({4}, {-1081, 891, 902, 1177});
  const Tensor x_zero = t<uint8_t>({1}, {100}), w_zero = t<int8_t>({4}, {0, 0, 0, 0});
  const Attrs padded{{"group", int64_t{2}},
                     {"strides", std::vector<int64_t>{2, 2}},
                     {"pads", std::vector<int64_t>{1, 1, 1, 1}}};
  c.push_back({"quantized_conv",
               padded,
               {x, f(.05F), x_zero, w, w_scale, w_zero, f(2.5F), t<int8_t>({}, {3}), bias},
               {t<int8_t>({1, 4, 2, 2}, {2, 3, 3, 2, 3, 4, 2, 2, 1, 5, 2, 3, 7, 3, 12, 3})}});
  Attrs relu = padded;
  relu.set("post", std::vector<std::string>{"relu"});
  relu.set("post_args", std::vector<double>{0, 0});
  c.push_back({"quantized_conv",
               relu,
               {x, f(.05F), x_zero, w, w_scale, w_zero, f(2.5F), t<int8_t>({}, {3}), bias},
               {t<int8_t>({1, 4, 2, 2}, {3, 3, 3, 3, 3, 4, 3, 3, 3, 5, 3, 3, 7, 3, 12, 3})}});
  c.push_back(
      {"quantized_conv",
       padded,
       {x, f(.05F), x_zero, w, w_scale, w_zero, {}, {}, bias},
       {f({1, 4, 2, 2}, {-2.0385F, .743F, -.2685F, -1.5565F, -1.035F, 3.54F, -1.465F, -3.444F,
                         -5.487F, 4.143F, -2.1F, -.132F, 10.866F, -.956F, 22.762F, -1.056F})}});
  c.push_back({"conv_integer",
               {{"group", int64_t{2}}},
               {x, w, x_zero, w_zero},
               {t<int32_t>({1, 4, 2, 2}, {-2987, 12687, 7188, -2032, 12089, -8797, -7620, -4335,
                                          -7158, -4238, 12622, -990, -3605, 3639, -2305, -1705})}});

  const Tensor a = t<int8_t>({2, 3}, {94, -54, 112, -128, -109, 121});
  const Tensor b = t<int8_t>({3, 4}, {113, -52, -93, -48, -117, 100, 41, 21, -66, -8, -80, 69});
  c.push_back({"quantized_matmul",
               {},
               {a, f(.1F), t<int8_t>({}, {-5}), b, f({4}, {.1F, .2F, .3F, .4F}), t<int8_t>({}, {0}),
                f(9), t<uint8_t>({}, {7}), t<int32_t>({4}, {-26, -470, -246, 206})},
               {t<uint8_t>({2, 4}, {17, 0, 0, 18, 0, 0, 0, 63})}});
  c.push_back({"matmul_integer",
               {},
               {a, b, t<int8_t>({1}, {-5}), t<int8_t>({4}, {1, 0, -2, 3})},
               {t<int32_t>({2, 4}, {9031, -10984, -20242, 1791, -9946, -5012, -3107, 12717})}});

  const Tensor p = t<uint8_t>({1, 2, 2}, {0, 10, 200, 255}), q = t<uint8_t>({2}, {7, 100});
  c.push_back({"quantized_add",
               {},
               {p, f(.5F), t<uint8_t>({}, {10}), q, f(2), t<uint8_t>({}, {50}), f(4),
                t<uint8_t>({}, {128})},
               {t<uint8_t>({1, 2, 2}, {105, 153, 130, 184})}});
  return c;
}

}  // namespace hub
