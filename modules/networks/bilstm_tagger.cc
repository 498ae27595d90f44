// An LSTM that reads a sequence both ways, and two products on each of its steps: a class for each
// symbol. ids int64 [B, S] -> logits float32 [B, S, classes]. Tensors as in PyTorch:
// embedding.weight; lstm.weight_ih_l0, .weight_hh_l0, .bias_ih_l0, .bias_hh_l0 and the same with
// _reverse; logit_layer.0.weight, .bias, a ReLU, logit_layer.2.weight, .bias. Options: "hidden", of
// one direction.
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "hub/fields.h"
#include "modules/networks/torch_rnn.h"
#include "modules/weights.h"

namespace hub {

Program build_bilstm_tagger(const NamedTensors& tensors, const json& config) {
  Fields fields(config, "options of bilstm-tagger");
  const int64_t hidden = fields.integer("hidden", 1, 1 << 14);
  fields.done();

  Program program;
  program.name = "bilstm-tagger";
  const Weights weights(tensors, program);
  Program scratch;
  const Weights torch(tensors, scratch);
  const Var ids{&program, program.add_input("ids", {DType::i64, {-1, -1}})};
  const Var table = weights.take("embedding.weight", {-1, -1});
  const int64_t width = table.constant().shape()[1], wide = 4 * hidden;

  std::vector<float> input, recurrent, bias;
  for (const char* direction : {"_l0", "_l0_reverse"}) {
    const auto add = [&](const char* kind, const Shape& shape, std::vector<float>& to) {
      const auto values = lstm_gates(torch.take(concat("lstm.", kind, direction), shape));
      to.insert(to.end(), values.begin(), values.end());
    };
    add("weight_ih", {wide, width}, input);
    add("weight_hh", {wide, hidden}, recurrent);
    add("bias_ih", {wide}, bias);
    add("bias_hh", {wide}, bias);
  }
  const Var x = transpose(embedding(table, ids), {1, 0, 2});  // the layer walks along the first
  const Var w = constant(program, Tensor::floats({2, wide, width}, input), "input");
  const Var r = constant(program, Tensor::floats({2, wide, hidden}, recurrent), "recurrent");
  const Var b = constant(program, Tensor::floats({2, 2 * wide}, bias), "bias");
  const Vars out = apply(*find_op("lstm"), {x, w, r, b},
                         {{"hidden_size", hidden}, {"direction", std::string("bidirectional")}}, 3);
  // [S, 2, B, H] to [B, S, 2 H]
  const Var steps = reshape(transpose(out.at(0), {2, 0, 1, 3}), {0, 0, 2 * hidden});
  const Var between =
      unary("relu", matmul(steps, weights.take("logit_layer.0.weight", {-1, 2 * hidden}),
                           weights.take("logit_layer.0.bias", {-1}), false, true));
  const Var logits = matmul(between, weights.take("logit_layer.2.weight", {-1, -1}),
                            weights.take("logit_layer.2.bias", {-1}), false, true);
  program.rename(logits.id, "logits");
  program.outputs = {logits.id};
  return program;
}

}  // namespace hub
