#include "runtime/flops.h"

#include <map>

#include "runtime/op.h"

namespace hub {
namespace {

using Specs = std::span<const Spec>;
using Count = double (*)(const Attrs&, Specs in, Specs out);

double elements(const Spec& s) { return static_cast<double>(s.shape.numel()); }

/// Every element of `each` meets the weights of one of their first dimension.
double windows(const Spec& each, const Spec& w) {
  return w.shape[0] == 0 ? 0 : 2 * elements(each) * elements(w) / static_cast<double>(w.shape[0]);
}

double product(const Attrs& attrs, const Spec& a, const Spec& y) {
  const size_t rank = a.shape.rank();
  const bool transposed = rank > 1 && attrs.i("trans_a", 0) != 0;
  return 2 * elements(y) * static_cast<double>(a.shape[rank - (transposed ? 2 : 1)]);
}

double attention(const Attrs&, Specs in, Specs) {
  const Shape& q = in[0].shape;
  const Shape& v = in[2].shape;
  return 2 * static_cast<double>(q[0] * q[1]) * static_cast<double>(v[1]) *
         static_cast<double>(q[2] + v[2]);
}

/// x [steps, batch, …] or [batch, steps, …], with weights for the input and for the state.
double recurrent(const Attrs&, Specs in, Specs) {
  return 2 * static_cast<double>(in[0].shape[0] * in[0].shape[1]) *
         (elements(in[1]) + elements(in[2]));
}

/// conv_…weight_grad; the bias alone takes no products.
template <size_t each>
double weights(const Attrs&, Specs in, Specs out) {
  return out[0].dtype == DType::none ? 0 : windows(in[each], in[2]);
}

/// The input is projected already.
double fluid(const Attrs&, Specs in, Specs) {
  return 2 * static_cast<double>(in[0].shape[0]) * elements(in[1]);
}

const std::map<std::string_view, Count>& counts() {
  static const Count small_conv = [](const Attrs&, Specs in, Specs out) {
    return windows(out[0], in[1]);
  };
  static const Count large_conv = [](const Attrs&, Specs in, Specs) {
    return windows(in[0], in[1]);
  };
  static const std::map<std::string_view, Count> all = {
      {"conv", small_conv},
      {"conv_integer", small_conv},
      {"quantized_conv", [](const Attrs&, Specs in, Specs out) { return windows(out[0], in[3]); }},
      {"conv_input_grad", large_conv},
      {"conv_weight_grad", weights<1>},
      {"conv_transpose", large_conv},
      {"conv_transpose_input_grad", small_conv},
      {"conv_transpose_weight_grad", weights<0>},
      {"matmul", [](const Attrs& a, Specs in, Specs out) { return product(a, in[0], out[0]); }},
      {"matmul_integer",
       [](const Attrs& a, Specs in, Specs out) { return product(a, in[0], out[0]); }},
      {"quantized_matmul",
       [](const Attrs& a, Specs in, Specs out) { return product(a, in[0], out[0]); }},
      {"attention", attention},
      {"rnn", recurrent},
      {"gru", recurrent},
      {"lstm", recurrent},
      {"fluid_gru", fluid},
      {"fluid_lstm", fluid},
  };
  return all;
}

}  // namespace

double flops_of(const OpCall& call, Specs in, Specs out) {
  const auto it = counts().find(call.op->name);
  return it == counts().end() ? 0 : it->second(call.attrs, in, out);
}

}  // namespace hub
