// Rows of the operators that own blocks.
#include "tests/runtime/blocks.h"
#include "tests/runtime/op_cases.h"

namespace hub {

std::vector<OpCase> control_cases() {
  const BlockPtr product = block_of(2, [](const Vars& in) { return Vars{mul(in[0], in[1])}; });
  const BlockPtr twice = block_of(2, [](const Vars& in) { return Vars{add(in[0], in[0])}; });
  // x * w each round, and x * w + w scanned; the round number is not read.
  const BlockPtr powers = block_of(4, [](const Vars& in) {
    const Var y = mul(in[2], in[3]);
    return Vars{apply("identity", {in[1]}), y, add(y, in[3])};
  });
  const BlockPtr below_ten = block_of(4, [](const Vars& in) {
    const Var y = mul(in[2], in[3]);
    const Var ten = apply("cast", {constant(*y.program, f(10)), y});
    const Var sum = apply("reduce_sum", {y}, {{"keepdims", int64_t{0}}});
    return Vars{apply("less", {sum, ten}), y};
  });
  const Tensor x = f({2}, {1, -2});
  const Tensor w = f({2}, {3, 0.5F});
  const Tensor yes = t<bool>({}, {true});
  const Tensor no = t<bool>({}, {false});
  const Tensor three = i({3}).reshaped({});
  const Attrs choice{{"then", product}, {"else", twice}};
  return {
      {"if", choice, {yes, x, w}, {f({2}, {3, -1})}},
      {"if", choice, {no, x, w}, {f({2}, {2, -4})}},
      {"while",
       {{"body", powers}, {"carried", int64_t{1}}},
       {three, {}, x, w},
       {f({2}, {27, -0.25F}), f({3, 2}, {6, -0.5F, 12, 0, 30, 0.25F})}},
      {"while",
       {{"body", powers}, {"carried", int64_t{1}}, {"history", int64_t{1}}},
       {three, yes, x, w},
       {f({2}, {27, -0.25F}), f({3, 2}, {6, -0.5F, 12, 0, 30, 0.25F}),
        f({3, 2}, {1, -2, 3, -1, 9, -0.5F}), three}},
      {"while", {{"body", powers}, {"carried", int64_t{1}}}, {three, no, x, w}, {x, f({0, 2}, {})}},
      {"while",
       {{"body", below_ten}, {"carried", int64_t{1}}},
       {{}, yes, x, w},
       {f({2}, {27, -0.25F})}},
  };
}

}  // namespace hub
