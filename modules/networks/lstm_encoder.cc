// LSTM layers one over the other, a product and a ReLU on the last step of the last: a vector for a
// sequence (Wan et al. 2017, arXiv:1710.10467). frames float32 [B, S, features] -> embedding [B,
// width]. Tensors as in PyTorch: lstm.weight_ih_lN, .weight_hh_lN, .bias_ih_lN, .bias_hh_lN;
// linear.weight, linear.bias. Options: "layers", "hidden",
// "features".
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "hub/fields.h"
#include "modules/networks/torch_rnn.h"
#include "modules/weights.h"

namespace hub {
Program build_lstm_encoder(const NamedTensors& tensors, const json& config) {
  Fields fields(config, "options of lstm-encoder");
  const int64_t layers = fields.integer("layers", 1, 64);
  const int64_t hidden = fields.integer("hidden", 1, 1 << 16);
  const int64_t features = fields.integer("features", 1, 1 << 16);
  fields.done();

  Program program;
  program.name = "lstm-encoder";
  const Weights weights(tensors, program);
  Program scratch;
  const Weights torch(tensors, scratch);
  const Var frames{&program, program.add_input("frames", {DType::f32, {-1, -1, features}})};
  Var x = transpose(frames, {1, 0, 2}), last;  // the layers walk along the first dimension
  const int64_t wide = 4 * hidden;
  for (int64_t i = 0; i < layers; ++i) {
    const auto name = [&](const char* kind) { return concat("lstm.", kind, "_l", i); };
    const auto matrix = [&](const char* kind, int64_t in) {
      const std::vector<float> values = lstm_gates(torch.take(name(kind), {wide, in}));
      return constant(program, Tensor::floats({1, wide, in}, values), name(kind));
    };
    std::vector<float> biases = lstm_gates(torch.take(name("bias_ih"), {wide}));
    const std::vector<float> recurrent = lstm_gates(torch.take(name("bias_hh"), {wide}));
    biases.insert(biases.end(), recurrent.begin(), recurrent.end());
    const Var w = matrix("weight_ih", i == 0 ? features : hidden);
    const Var r = matrix("weight_hh", hidden);
    const Var b = constant(program, Tensor::floats({1, 2 * wide}, biases), name("bias"));
    const Vars out = apply(*find_op("lstm"), {x, w, r, b}, {{"hidden_size", hidden}}, 3);
    x = reshape(transpose(out.at(0), {0, 2, 1, 3}), {0, 0, hidden});  // [S, 1, B, H] to [S, B, H]
    last = reshape(out.at(1), {-1, hidden});
  }
  const Var linear = matmul(last, weights.take("linear.weight", {-1, hidden}),
                            weights.take("linear.bias", {-1}), false, true);
  const Var embedding = unary("relu", linear);
  program.rename(embedding.id, "embedding");
  program.outputs = {embedding.id};
  return program;
}

}  // namespace hub
