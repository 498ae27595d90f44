#include <algorithm>

#include "runtime/op.h"
#include "runtime/passes/passes.h"

namespace hub {
namespace {

/// The side of the square windows when they do not overlap and nothing is cut off; else 0.
int64_t window_side(const Program& p, const OpCall& call) {
  if (!is(call, "conv_transpose") || call.attrs.i("group", 1) != 1 || call.attrs.has("post"))
    return 0;
  const Tensor& w = p[call.in[1]].constant;
  if (!w || w.dtype() != DType::f32 || w.shape().rank() != 4) return 0;
  const int64_t side = w.shape()[2];
  if (side < 2 || w.shape()[3] != side || call.attrs.ints("strides") != std::vector{side, side})
    return 0;
  auto all = [&](std::string_view name, int64_t value) {
    const auto list = call.attrs.ints(name);
    return std::all_of(list.begin(), list.end(), [&](int64_t v) { return v == value; });
  };
  const std::string pad = call.attrs.s("auto_pad", "");
  if (!all("pads", 0) || !all("output_padding", 0) || !all("dilations", 1)) return 0;
  if (!call.attrs.ints("output_shape").empty() || (!pad.empty() && pad != "valid")) return 0;
  if (call.in.size() > 2 && call.in[2] != absent && !p[call.in[2]].constant) return 0;
  return side;
}

/// [I, O, k, k] as the weights of a 1x1 conv: output channel (row, column, o).
Tensor unrolled(const Tensor& w) {
  const int64_t in = w.shape()[0];
  const int64_t out = w.shape()[1];
  const int64_t pixels = w.shape()[2] * w.shape()[3];
  Tensor u(DType::f32, {pixels * out, in, 1, 1});
  for (int64_t i = 0; i < in; ++i) {
    for (int64_t o = 0; o < out; ++o) {
      for (int64_t k = 0; k < pixels; ++k) {
        u.data<float>()[(k * out + o) * in + i] = w.data<float>()[(i * out + o) * pixels + k];
      }
    }
  }
  return u;
}

/// A bias once for each pixel of a window.
Tensor repeated(const Tensor& bias, int64_t pixels) {
  const auto once = bias.to_floats();
  std::vector<float> all;
  for (int64_t k = 0; k < pixels; ++k) all.insert(all.end(), once.begin(), once.end());
  return Tensor::floats({static_cast<int64_t>(all.size())}, all);
}

bool elementwise(const OpCall& call) {
  for (std::string_view op :
       {"relu", "sigmoid", "tanh", "hard_swish", "swish", "hard_sigmoid", "gelu"}) {
    if (is(call, op)) return true;
  }
  return false;
}

/// An elementwise step behind depth_to_space moves in front of it.
void lift_steps(Program& program) {
  const Uses uses(program);
  for (size_t c = 0; c < program.ops.size(); ++c) {
    OpCall& shuffle = program.ops[c];
    if (!is(shuffle, "depth_to_space")) continue;
    const int next = uses.only_reader(shuffle.out[0]);
    if (next < 0 || !elementwise(program.ops[static_cast<size_t>(next)])) continue;
    OpCall& step = program.ops[static_cast<size_t>(next)];
    std::swap(shuffle.op, step.op);
    std::swap(shuffle.attrs, step.attrs);
  }
}

/// Whether the call is a conv that looks at one pixel, with known weights.
bool pointwise(const Program& p, const OpCall& call) {
  if (!is(call, "conv") || call.attrs.i("group", 1) != 1 || call.attrs.has("post")) return false;
  const Tensor& w = p[call.in[1]].constant;
  if (!w || w.dtype() != DType::f32 || w.shape().rank() != 4 || w.shape()[2] != 1 ||
      w.shape()[3] != 1)
    return false;
  if (call.in.size() > 2 && call.in[2] != absent && !p[call.in[2]].constant) return false;
  const auto strides = call.attrs.ints("strides"), pads = call.attrs.ints("pads");
  return std::all_of(strides.begin(), strides.end(), [](int64_t s) { return s == 1; }) &&
         std::all_of(pads.begin(), pads.end(), [](int64_t s) { return s == 0; });
}

/// A pointwise conv to few channels behind depth_to_space does the same in front of it, on each
/// pixel of a window apart: its weights are zero between different pixels. Then little is shuffled.
bool lift_conv(Program& program) {
  const Uses uses(program);
  for (OpCall& shuffle : program.ops) {
    if (!is(shuffle, "depth_to_space") || shuffle.attrs.s("mode", "DCR") != "DCR") continue;
    const int next = uses.only_reader(shuffle.out[0]);
    if (next < 0 || !pointwise(program, program.ops[static_cast<size_t>(next)])) continue;
    OpCall& conv = program.ops[static_cast<size_t>(next)];
    const int64_t side = shuffle.attrs.i("blocksize"), pixels = side * side;
    const Tensor w = program[conv.in[1]].constant;
    const int64_t out = w.shape()[0], in = w.shape()[1];
    if (out * pixels > in) continue;  // the products that give nothing cost more
    Tensor wide(DType::f32, {out * pixels, in * pixels, 1, 1});
    std::fill_n(wide.data<float>(), wide.numel(), 0.0F);
    for (int64_t k = 0; k < pixels; ++k)
      for (int64_t o = 0; o < out; ++o)
        std::copy_n(w.data<float>() + o * in, in,
                    wide.data<float>() + ((k * out + o) * pixels + k) * in);
    OpCall lifted = conv;
    lifted.in[0] = shuffle.in[0];
    lifted.in[1] = program.add_constant("", wide);
    if (conv.in.size() > 2 && conv.in[2] != absent)
      lifted.in[2] = program.add_constant("", repeated(program[conv.in[2]].constant, pixels));
    lifted.out = {program.add_value("")};
    OpCall behind = shuffle;
    behind.in = lifted.out;
    behind.out = conv.out;
    shuffle = std::move(lifted);
    conv = std::move(behind);
    return true;
  }
  return false;
}

}  // namespace

void unroll_conv_transpose(Program& program) {
  std::vector<OpCall> calls;
  for (OpCall& call : program.ops) {
    const int64_t side = window_side(program, call);
    if (side == 0) {
      calls.push_back(std::move(call));
      continue;
    }
    const Tensor w = program[call.in[1]].constant;
    OpCall conv{
        find_op("conv"), {call.in[0], program.add_constant("", unrolled(w))}, {}, {}, call.name};
    if (call.in.size() > 2 && call.in[2] != absent) {
      conv.in.push_back(
          program.add_constant("", repeated(program[call.in[2]].constant, side * side)));
    }
    conv.out = {program.add_value("")};
    calls.push_back(conv);
    calls.push_back({find_op("depth_to_space"),
                     conv.out,
                     call.out,
                     {{"blocksize", side}, {"mode", std::string("DCR")}},
                     call.name});
  }
  program.ops = std::move(calls);
  do {
    lift_steps(program);
  } while (lift_conv(program));
}

}  // namespace hub
