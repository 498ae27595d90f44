#include <cmath>
#include <limits>

#include "tests/runtime/op_cases.h"

namespace hub {
namespace {

constexpr float inf = std::numeric_limits<float>::infinity();
const float nan = std::nanf("");

/// A unary row on floats, and one at an odd size for devices.
void unary(std::vector<OpCase>& cases, std::string_view op, std::vector<float> x,
           std::vector<float> y) {
  const auto n = static_cast<int64_t>(x.size());
  cases.push_back({op, {}, {f({n}, x)}, {f({n}, y)}});
  cases.push_back({op, {}, {noise({1, 3, 7, 5})}, {}});
}

void binary(std::vector<OpCase>& cases, std::string_view op, std::vector<float> a,
            std::vector<float> b, Tensor y) {
  const auto n = static_cast<int64_t>(a.size());
  cases.push_back({op, {}, {f({n}, a), f({n}, b)}, {y}});
  cases.push_back({op, {}, {noise({2, 3, 5, 7}, 1), noise({3, 1, 1}, 2)}, {}});
  cases.push_back({op, {}, {noise({2, 3, 1, 7}, 1), noise({2, 1, 5, 7}, 2)}, {}});
}

}  // namespace

std::vector<OpCase> elementwise_cases() {
  std::vector<OpCase> c;
  unary(c, "abs", {-1.5F, 0, 2}, {1.5F, 0, 2});
  unary(c, "neg", {-1.5F, 0, 2}, {1.5F, 0, -2});
  unary(c, "sign", {-1.5F, 0, 2}, {-1, 0, 1});
  unary(c, "relu", {-1.5F, 0, 2, nan}, {0, 0, 2, nan});
  unary(c, "exp", {0, 1, -inf}, {1, 2.7182818F, 0});
  unary(c, "log", {1, 2.7182818F, 0, -1}, {0, 1, -inf, nan});
  unary(c, "sqrt", {4, 0, 2}, {2, 0, 1.4142135F});
  unary(c, "reciprocal", {4, -0.5F, 0}, {0.25F, -2, inf});
  unary(c, "erf", {0, 0.5F, -3}, {0, 0.5204999F, -0.9999779F});
  unary(c, "floor", {1.7F, -1.2F, 3}, {1, -2, 3});
  unary(c, "ceil", {1.2F, -1.7F, 3}, {2, -1, 3});
  unary(c, "round", {0.5F, 1.5F, 2.5F, -0.5F, -1.7F}, {0, 2, 2, 0, -2});
  unary(c, "sin", {0, 1.5707963F, 1}, {0, 1, 0.8414710F});
  unary(c, "cos", {0, 3.1415927F, 1}, {1, -1, 0.5403023F});
  unary(c, "tan", {0, 0.7853982F, 1}, {0, 1, 1.5574077F});
  unary(c, "asin", {0, 1, 2}, {0, 1.5707963F, nan});
  unary(c, "acos", {1, 0, -1}, {0, 1.5707963F, 3.1415927F});
  unary(c, "atan", {0, 1, inf}, {0, 0.7853982F, 1.5707963F});
  unary(c, "sinh", {0, 1}, {0, 1.1752012F});
  unary(c, "cosh", {0, 1}, {1, 1.5430806F});
  unary(c, "tanh", {0, 1, -inf}, {0, 0.7615942F, -1});
  unary(c, "asinh", {0, 1}, {0, 0.8813736F});
  unary(c, "acosh", {1, 2}, {0, 1.3169579F});
  unary(c, "atanh", {0, 0.5F}, {0, 0.5493061F});
  unary(c, "sigmoid", {0, 2, -200}, {0.5F, 0.8807971F, 0});
  unary(c, "softplus", {0, 2, 200, -200}, {0.6931472F, 2.1269280F, 200, 0});
  unary(c, "softsign", {0, 1, -3}, {0, 0.5F, -0.75F});
  unary(c, "hard_swish", {-4, -1, 0, 1, 4}, {0, -0.3333333F, 0, 0.6666667F, 4});
  unary(c, "gelu", {0, 1, -1, 3}, {0, 0.8413447F, -0.1586553F, 2.9959502F});
  unary(c, "identity", {1, -2, nan}, {1, -2, nan});
  c.push_back(
      {"gelu", {{"approximate", "tanh"}}, {f({2}, {1, -1})}, {f({2}, {0.8411920F, -0.1588080F})}});
  c.push_back({"abs", {}, {t<int8_t>({3}, {-128, -7, 7})}, {t<int8_t>({3}, {-128, 7, 7})}});
  c.push_back({"neg", {}, {t<int32_t>({2}, {-5, 7})}, {t<int32_t>({2}, {5, -7})}});
  c.push_back({"sign", {}, {t<uint8_t>({2}, {0, 200})}, {t<uint8_t>({2}, {0, 1})}});
  c.push_back({"not", {}, {t<bool>({2}, {true, false})}, {t<bool>({2}, {false, true})}});
  c.push_back({"isnan", {}, {f({3}, {1, nan, inf})}, {t<bool>({3}, {false, true, false})}});
  c.push_back({"isinf", {}, {f({3}, {nan, -inf, inf})}, {t<bool>({3}, {false, true, true})}});
  c.push_back({"isinf",
               {{"detect_negative", int64_t{0}}},
               {f({3}, {nan, -inf, inf})},
               {t<bool>({3}, {false, false, true})}});

  c.push_back(
      {"clip", {}, {f({4}, {-2, 0.5F, 9, nan}), f(-1), f(6)}, {f({4}, {-1, 0.5F, 6, nan})}});
  c.push_back({"clip", {}, {f({2}, {-2, 9}), {}, f(6)}, {f({2}, {-2, 6})}});
  c.push_back({"clip", {}, {f({2}, {-2, 9}), f(3), f(1)}, {f({2}, {1, 1})}});
  c.push_back(
      {"clip", {}, {t<int8_t>({2}, {-20, 9}), t<int8_t>({}, {-3})}, {t<int8_t>({2}, {-3, 9})}});
  c.push_back({"clip", {}, {noise({2, 3, 7, 5}), f(-0.5F), f(0.25F)}, {}});

  const Tensor odd = f({6}, {1.9F, -1.9F, 300, -300, nan, 0});
  c.push_back({"cast", {{"to", "int32"}}, {odd}, {t<int32_t>({6}, {1, -1, 300, -300, 0, 0})}});
  c.push_back({"cast", {{"to", "uint8"}}, {odd}, {t<uint8_t>({6}, {1, 0, 255, 0, 0, 0})}});
  c.push_back(
      {"cast", {{"to", "bool"}}, {odd}, {t<bool>({6}, {true, true, true, true, true, false})}});
  c.push_back({"cast", {{"to", "int8"}}, {i({300, -1})}, {t<int8_t>({2}, {44, -1})}});
  c.push_back({"cast", {{"to", "float32"}}, {i({300, -1})}, {f({2}, {300, -1})}});
  c.push_back({"cast", {{"to", "float64"}}, {f({2}, {1.5F, -2})}, {t<double>({2}, {1.5, -2})}});
  c.push_back({"cast", {}, {i({3}), f(0)}, {f({1}, {3})}});

  binary(c, "add", {1, 2, inf}, {3, -4, 1}, f({3}, {4, -2, inf}));
  binary(c, "sub", {1, 2}, {3, -4}, f({2}, {-2, 6}));
  binary(c, "mul", {1, 2}, {3, -4}, f({2}, {3, -8}));
  binary(c, "div", {1, 2, 1}, {4, -4, 0}, f({3}, {0.25F, -0.5F, inf}));
  binary(c, "mod", {5, -5, 5.5F}, {3, 3, -3}, f({3}, {2, 1, -0.5F}));
  binary(c, "pow", {2, 3, 4}, {3, 2, 0.5F}, f({3}, {8, 9, 2}));
  binary(c, "min", {1, 2, nan, 1}, {3, -4, 1, nan}, f({4}, {1, -4, nan, nan}));
  binary(c, "max", {1, 2, nan, 1}, {3, -4, 1, nan}, f({4}, {3, 2, nan, nan}));
  binary(c, "equal", {1, 2, nan}, {1, 3, nan}, t<bool>({3}, {true, false, false}));
  binary(c, "less", {1, 2, nan}, {1, 3, nan}, t<bool>({3}, {false, true, false}));
  binary(c, "less_equal", {1, 4, nan}, {1, 3, nan}, t<bool>({3}, {true, false, false}));
  binary(c, "greater", {1, 4, nan}, {1, 3, nan}, t<bool>({3}, {false, true, false}));
  binary(c, "greater_equal", {1, 2, nan}, {1, 3, nan}, t<bool>({3}, {true, false, false}));
  const Tensor tt = t<bool>({4}, {true, true, false, false});
  const Tensor tf = t<bool>({4}, {true, false, true, false});
  c.push_back({"and", {}, {tt, tf}, {t<bool>({4}, {true, false, false, false})}});
  c.push_back({"or", {}, {tt, tf}, {t<bool>({4}, {true, true, true, false})}});
  c.push_back({"xor", {}, {tt, tf}, {t<bool>({4}, {false, true, true, false})}});
  c.push_back({"equal", {}, {tt, tf}, {t<bool>({4}, {true, false, false, true})}});
  // Every way an operand can repeat, and wrapping, truncating integers.
  c.push_back(
      {"add", {}, {f({2, 3}, {1, 2, 3, 4, 5, 6}), f(10)}, {f({2, 3}, {11, 12, 13, 14, 15, 16})}});
  c.push_back({"sub", {}, {f(10), f({2, 1}, {1, 2})}, {f({2, 1}, {9, 8})}});
  c.push_back(
      {"sub", {}, {f({2, 1}, {10, 20}), f({3}, {1, 2, 3})}, {f({2, 3}, {9, 8, 7, 19, 18, 17})}});
  c.push_back({"mul",
               {},
               {f({2, 1, 2}, {1, 2, 3, 4}), f({2, 1}, {10, 100})},
               {f({2, 2, 2}, {10, 20, 100, 200, 30, 40, 300, 400})}});
  c.push_back({"add", {}, {f({0, 3}, {}), f({3}, {1, 2, 3})}, {f({0, 3}, {})}});
  c.push_back({"add", {}, {t<uint8_t>({1}, {250}), t<uint8_t>({1}, {10})}, {t<uint8_t>({1}, {4})}});
  c.push_back({"div",
               {},
               {t<int32_t>({3}, {-7, 7, -8}), t<int32_t>({}, {-2})},
               {t<int32_t>({3}, {3, -3, 4})}});
  c.push_back({"mod", {}, {i({-4, 7, 5, 4}), i({2, -3, 8, -2})}, {i({0, -2, 5, 0})}});
  c.push_back({"mod", {{"fmod", int64_t{1}}}, {i({-4, 7, -5}), i({3, -3, 8})}, {i({-1, 1, -5})}});
  c.push_back({"pow",
               {},
               {t<int32_t>({3}, {2, -3, 2}), i({10, 3, -1})},
               {t<int32_t>({3}, {1024, -27, 0})}});
  c.push_back({"pow", {}, {i({4}), f({1}, {0.5F})}, {i({2})}});
  c.push_back({"pow", {}, {f({2}, {2, 3}), i({3, 2})}, {f({2}, {8, 9})}});
  c.push_back({"bit_shift",
               {{"direction", "LEFT"}},
               {t<uint8_t>({3}, {16, 4, 1}), t<uint8_t>({3}, {1, 2, 8})},
               {t<uint8_t>({3}, {32, 16, 0})}});
  c.push_back({"bit_shift",
               {{"direction", "RIGHT"}},
               {t<uint64_t>({2}, {16, 4}), t<uint64_t>({2}, {1, 64})},
               {t<uint64_t>({2}, {8, 0})}});

  c.push_back({"pow", {}, {f({3}, {-2, 0, 3}), i({2, 2, 2})}, {f({3}, {4, 0, 9})}});
  c.push_back({"max", {}, {f({2}, {1, 2}), f({2, 1}, {0, 3})}, {f({2, 2}, {1, 2, 3, 3})}});

  c.push_back({"where",
               {},
               {t<bool>({2, 1}, {true, false}), f({2}, {1, 2}), f(9)},
               {f({2, 2}, {1, 2, 9, 9})}});

  c.push_back({"quantize",
               {},
               {f({5}, {1, 3, 5, 999, -999}), f(2), t<uint8_t>({}, {10})},
               {t<uint8_t>({5}, {10, 12, 12, 255, 0})}});
  c.push_back({"quantize",
               {{"axis", int64_t{0}}},
               {f({2, 2}, {1, -2, 30, 45}), f({2}, {1, 10}), t<int8_t>({2}, {0, -1})},
               {t<int8_t>({2, 2}, {1, -2, 2, 3})}});
  c.push_back({"dequantize",
               {},
               {t<uint8_t>({1, 2}, {10, 255}), f({2}, {2, 1}), t<uint8_t>({2}, {128, 0})},
               {f({1, 2}, {-236, 255})}});
  c.push_back({"dequantize", {}, {t<int32_t>({2}, {-7, 7}), f(0.5F)}, {f({2}, {-3.5F, 3.5F})}});

  // slope(v, dy)
  auto slope = [&](std::string_view op, const Attrs& attrs, const std::vector<float>& v,
                   const std::vector<float>& dy, const std::vector<float>& dx) {
    const auto n = static_cast<int64_t>(v.size());
    c.push_back({op, attrs, {f({n}, v), f({n}, dy)}, {f({n}, dx)}});
    c.push_back({op, attrs, {noise({1, 3, 7, 5}, 1), noise({1, 3, 7, 5}, 2)}, {}});
  };
  slope("relu_grad", {}, {0, 2, 0.5F}, {5, 6, 7}, {0, 6, 7});
  slope("sigmoid_grad", {}, {0.5F, 0.25F}, {4, -16}, {1, -3});
  slope("tanh_grad", {}, {0, 0.5F}, {3, -4}, {3, -3});
  slope("hard_swish_grad", {}, {-4, -3, 0, 1.5F, 3, 4}, {1, 1, 2, 2, 3, 3}, {0, 0, 1, 2, 3, 3});
  slope("gelu_grad", {}, {0, 1, -1, 3}, {1, 2, -1, 0.5F},
        {0.5F, 2.16663094F, 0.0833154706F, 0.505972824F});
  slope("gelu_grad", {{"approximate", "tanh"}}, {0, 1, -1, 3}, {1, 2, -1, 0.5F},
        {0.5F, 2.16592817F, 0.0829640839F, 0.505792083F});
  slope("leaky_relu_grad", {{"alpha", 0.1}}, {-1, 0, 2}, {10, 10, 10}, {1, 1, 10});
  slope("hard_sigmoid_grad", {{"alpha", 0.25}}, {-2, -1, 1, 2}, {4, 4, 8, 8}, {0, 1, 2, 0});
  slope("swish_grad", {}, {0, 1, -1, 3}, {1, 2, -1, 0.5F},
        {0.5F, 1.85534102F, -0.0723294881F, 0.544052053F});
  slope("swish_grad", {{"beta", 2.0}}, {0, 1, -1, 3}, {1, 2, -1, 0.5F},
        {0.5F, 2.1815685F, 0.0907842488F, 0.506163216F});
  const Tensor at = f({5}, {-2, -1, 0.5F, 6, 9}), by = f({5}, {1, 2, 3, 4, 5});
  c.push_back({"clip_grad", {}, {at, by, f(-1), f(6)}, {f({5}, {0, 0, 3, 0, 0})}});
  c.push_back({"clip_grad", {}, {at, by, {}, f(0)}, {f({5}, {1, 2, 0, 0, 0})}});
  c.push_back({"clip_grad", {}, {noise({1, 3, 7, 5}, 1), noise({1, 3, 7, 5}, 2), f(-0.5F)}, {}});
  return c;
}

}  // namespace hub
