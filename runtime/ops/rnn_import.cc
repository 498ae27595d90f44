#include "runtime/ops/rnn_import.h"

#include <algorithm>

#include "runtime/ops/rules.h"

namespace hub {
namespace {

struct Mode {
  std::string_view paddle, op;
  std::vector<int64_t> order;  ///< gate i of ONNX is gate order[i] of Paddle
};
const Mode modes[] = {{"LSTM", "lstm", {0, 3, 1, 2}},  // i f g o -> i o f c
                      {"GRU", "gru", {1, 0, 2}},       // r z n -> z r h
                      {"RNN_TANH", "rnn", {0}},
                      {"RNN_RELU", "rnn", {0}}};

/// The gates of each part (all of one shape [gates * H, …]) in ONNX order, one part behind the
/// other, as `shape`.
Tensor joined(const ImportNode& n, const Vars& parts, const std::vector<int64_t>& order,
              const Shape& shape) {
  Tensor all(DType::f32, shape);
  float* to = all.data<float>();
  for (const Var& part : parts) {
    const Tensor& t = n.known(part);
    if (t.dtype() != DType::f32 ||
        t.numel() * static_cast<int64_t>(parts.size()) != shape.numel()) {
      n.refuse("a weight is ", t.spec().str(), ", which does not fit ", shape.str());
    }
    const int64_t gate = t.numel() / static_cast<int64_t>(order.size());
    for (int64_t g : order) to = std::copy_n(t.data<float>() + g * gate, gate, to);
  }
  return all;
}

}  // namespace

void paddle_rnn(ImportNode& n) {
  const std::string name = n.attrs.s("mode", "RNN_TANH");
  const auto* mode = std::find_if(std::begin(modes), std::end(modes),
                                  [&](const Mode& m) { return m.paddle == name; });
  if (mode == std::end(modes)) n.refuse("'mode' is '", name, "'");
  const bool both = n.attrs.i("is_bidirec", 0) != 0;
  const int64_t directions = both ? 2 : 1;
  const int64_t layers = n.attrs.i("num_layers", 1);
  const auto gates = static_cast<int64_t>(mode->order.size());
  const Vars weights = n.all("WeightList");
  const size_t half = weights.size() / 2;  // weights, then biases
  if (layers < 1 || layers > 64 || weights.size() != static_cast<size_t>(4 * layers * directions)) {
    n.refuse(weights.size(), " weights for ", layers, " layers");
  }
  Attrs attrs{{"direction", both ? "bidirectional" : "forward"}};
  if (mode->op == "gru") attrs.set("linear_before_reset", int64_t{1});
  if (name == "RNN_RELU")
    attrs.set("activations", std::vector<std::string>(static_cast<size_t>(directions), "Relu"));
  Var lengths = n.in("SequenceLength");
  if (lengths) lengths = apply("cast", {lengths}, {{"to", "int32"}});
  Var x = n.need("Input");
  std::array<Vars, 2> last;  // the final states of each layer: hidden, cell
  for (int64_t layer = 0; layer < layers; ++layer) {
    const auto first = static_cast<size_t>(2 * layer * directions);
    Vars w, r, b;
    for (size_t d = first; d < first + 2 * static_cast<size_t>(directions); d += 2) {
      w.push_back(weights[d]);
      r.push_back(weights[d + 1]);
      b.push_back(weights[half + d]);
      b.push_back(weights[half + d + 1]);
    }
    const Shape& input = n.known(w[0]).shape();
    const Shape& recurrent = n.known(r[0]).shape();
    if (input.rank() != 2 || recurrent.rank() != 2)
      n.refuse("weights are ", input.str(), " and ", recurrent.str());
    const int64_t hidden = recurrent[1];
    auto states = [&](size_t k) {
      const Var all = n.in("PreState", k);
      if (!all || layers == 1) return all;
      return apply("slice", {all, ints(n, {layer * directions}),
                             ints(n, {(layer + 1) * directions}), ints(n, {0})});
    };
    const Vars in{
        x,
        constant(n.program, joined(n, w, mode->order, {directions, gates * hidden, input[1]})),
        constant(n.program, joined(n, r, mode->order, {directions, gates * hidden, hidden})),
        constant(n.program, joined(n, b, mode->order, {directions, 2 * gates * hidden})),
        lengths,
        states(0),
        mode->op == "lstm" ? states(1) : Var{}};
    const Vars y = apply(*find_op(mode->op), in, attrs, mode->op == "lstm" ? 3 : 2);
    for (size_t k = 1; k < y.size(); ++k) last[k - 1].push_back(y[k]);
    x = apply("reshape", {apply("transpose", {y[0]}, {{"perm", std::vector<int64_t>{0, 2, 1, 3}}}),
                          ints(n, {0, 0, directions * hidden})});
  }
  n.out("Out", x);
  Vars states;
  for (const Vars& parts : last) {
    if (parts.empty()) continue;
    states.push_back(parts.size() == 1 ? parts[0] : apply("concat", parts, {{"axis", int64_t{0}}}));
  }
  n.out_all("State", states);
}

}  // namespace hub
