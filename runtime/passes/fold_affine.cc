// conv, conv_transpose or matmul followed by y * scale + shift with constants: into the weights.
// Exact up to rounding.
#include <algorithm>
#include <cmath>

#include "runtime/op.h"
#include "runtime/passes/passes.h"

namespace hub {
namespace {

struct Affine {
  std::vector<float> scale, shift;  ///< one a channel
};

/// The constant as one number a channel, when it broadcasts so: a scalar, or [C] at the channel's
/// place among `rank` dimensions.
std::optional<std::vector<float>> per_channel(const Tensor& t, int64_t channels, size_t rank,
                                              size_t axis) {
  if (!t || t.dtype() != DType::f32) return {};
  const auto c = static_cast<size_t>(channels);
  if (t.numel() == 1 && t.shape().rank() <= rank) return std::vector<float>(c, *t.data<float>());
  if (t.numel() != channels || t.shape().rank() > rank) return {};
  const size_t lead = rank - t.shape().rank();
  if (axis < lead || t.shape()[axis - lead] != channels) return {};
  const auto v = t.values<float>();
  return std::vector<float>(v.begin(), v.end());
}

/// What `call` does to its input `x` when that is affine a channel.
std::optional<Affine> affine_of(const Program& p, const OpCall& call, ValueId x, int64_t channels,
                                size_t rank, size_t axis) {
  const auto c = static_cast<size_t>(channels);
  Affine a{std::vector<float>(c, 1.0F), std::vector<float>(c, 0.0F)};
  if (is(call, "batch_norm")) {
    if (call.in[0] != x || axis != 1) return {};
    std::vector<std::vector<float>> v;
    for (size_t i = 1; i <= 4; ++i) {
      const auto& t = p[call.in[i]].constant;
      if (!t || t.numel() != channels) return {};
      v.push_back(t.to_floats());
    }
    const double epsilon = call.attrs.f("epsilon", 1e-5);
    for (size_t k = 0; k < c; ++k) {
      const double s = v[0][k] / std::sqrt(v[3][k] + epsilon);
      a.scale[k] = static_cast<float>(s);
      a.shift[k] = static_cast<float>(v[1][k] - v[2][k] * s);
    }
    return a;
  }
  if (call.in.size() != 2) return {};
  const bool first = call.in[0] == x;
  const ValueId other = first ? call.in[1] : call.in[0];
  if (other == x || other == absent) return {};
  const auto k = per_channel(p[other].constant, channels, rank, axis);
  if (!k) return {};
  if (is(call, "mul")) {
    a.scale = *k;
  } else if (is(call, "add")) {
    a.shift = *k;
  } else if (is(call, "sub")) {
    for (size_t i = 0; i < c; ++i) {
      a.scale[i] = first ? 1.0F : -1.0F;
      a.shift[i] = first ? -(*k)[i] : (*k)[i];
    }
  } else if (is(call, "div") && first) {
    for (size_t i = 0; i < c; ++i) a.scale[i] = 1.0F / (*k)[i];
  } else {
    return {};
  }
  return a;
}

/// Weights of `call` with output channel `o` scaled.
Tensor scale_weights(const OpCall& call, const Tensor& w, const std::vector<float>& scale) {
  if (std::all_of(scale.begin(), scale.end(), [](float s) { return s == 1.0F; })) return w;
  Tensor out = w.clone();
  const auto channels = static_cast<int64_t>(scale.size());
  auto* d = out.data<float>();
  if (is(call, "conv")) {  // [O, I, ...]
    const int64_t inner = w.numel() / channels;
    for (int64_t o = 0; o < channels; ++o) {
      for (int64_t i = 0; i < inner; ++i) d[o * inner + i] *= scale[static_cast<size_t>(o)];
    }
    return out;
  }
  if (is(call, "conv_transpose")) {  // [I, O / group, ...]: channel = group * (O / group) + o
    const int64_t group = call.attrs.i("group", 1);
    const int64_t per_group = w.shape()[1];
    const int64_t inner = w.shape().numel(2, w.shape().rank());
    for (int64_t i = 0; i < w.shape()[0]; ++i) {
      const int64_t g = i / (w.shape()[0] / group);
      for (int64_t o = 0; o < per_group; ++o) {
        float* row = d + (i * per_group + o) * inner;
        for (int64_t k = 0; k < inner; ++k) row[k] *= scale[static_cast<size_t>(g * per_group + o)];
      }
    }
    return out;
  }
  const bool transposed = call.attrs.i("trans_b", 0) != 0;
  const int64_t rows = w.shape()[0];
  const int64_t columns = w.shape()[1];
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) {
      d[r * columns + c] *= scale[static_cast<size_t>(transposed ? r : c)];
    }
  }
  return out;
}

/// Output channels of the call with constant weights; 0 for shapes that it cannot have.
int64_t channels_of(const OpCall& call, const Shape& w) {
  if (is(call, "matmul")) return w.rank() == 2 ? w[call.attrs.i("trans_b", 0) != 0 ? 0 : 1] : 0;
  if (w.rank() < 3 || w.numel() == 0) return 0;
  if (is(call, "conv")) return w[0];
  const int64_t group = call.attrs.i("group", 1);
  return group > 0 && w[0] % group == 0 ? w[1] * group : 0;
}

/// The same when nothing is fused behind it yet; else 0.
int64_t channels_of(const Program& p, const OpCall& call) {
  if (!is(call, "conv") && !is(call, "conv_transpose") && !is(call, "matmul")) return 0;
  if (call.attrs.has("post") || call.in.size() < 2 ||
      (call.in.size() > 3 && call.in[3] != absent)) {
    return 0;
  }
  const Tensor& w = p[call.in[1]].constant;
  if (!w || w.dtype() != DType::f32) return 0;
  const int64_t channels = channels_of(call, w.shape());
  if (call.in.size() < 3 || call.in[2] == absent) return channels;
  const Tensor& bias = p[call.in[2]].constant;
  return bias && bias.numel() == channels ? channels : 0;
}

}  // namespace

void fold_affine(Program& program) {
  for (bool again = true; again;) {
    again = false;
    const Uses uses(program);
    std::vector<char> gone(program.ops.size(), 0);
    for (size_t c = 0; c < program.ops.size(); ++c) {
      OpCall& call = program.ops[c];
      if (gone[c] != 0 || call.out.empty() || call.out[0] == absent) continue;
      const int64_t channels = channels_of(program, call);
      const int next = uses.only_reader(call.out[0]);
      if (channels == 0 || next < 0 || gone[static_cast<size_t>(next)] != 0) continue;
      OpCall& follower = program.ops[static_cast<size_t>(next)];
      const Tensor w = program[call.in[1]].constant;
      // The result of a matmul has the rank of a, which is not known here: its last dimension is
      // the channel.
      const bool matmul = is(call, "matmul");
      const size_t rank = matmul ? 1 : w.shape().rank();
      const auto affine = affine_of(program, follower, call.out[0], channels, rank, matmul ? 0 : 1);
      if (!affine) continue;
      std::vector<float> bias(static_cast<size_t>(channels), 0.0F);
      if (call.in.size() > 2 && call.in[2] != absent) {
        bias = program[call.in[2]].constant.to_floats();
      }
      for (size_t k = 0; k < bias.size(); ++k) {
        bias[k] = bias[k] * affine->scale[k] + affine->shift[k];
      }
      const auto weights =
          program.add_constant(program[call.in[1]].name, scale_weights(call, w, affine->scale));
      const std::string bias_name = call.in.size() > 2 && call.in[2] != absent
                                        ? program[call.in[2]].name
                                        : program[call.in[1]].name + ".bias";
      const auto shift = program.add_constant(bias_name, Tensor::floats({channels}, bias));
      call.in.resize(3, absent);
      call.in[1] = weights;
      call.in[2] = shift;
      call.out[0] = follower.out[0];
      gone[static_cast<size_t>(next)] = 1;
      again = true;
    }
    std::vector<OpCall> kept;
    for (size_t c = 0; c < program.ops.size(); ++c) {
      if (gone[c] == 0) kept.push_back(std::move(program.ops[c]));
    }
    program.ops = std::move(kept);
  }
}

}  // namespace hub
