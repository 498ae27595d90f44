// Recurrent language models: an embedding, LSTM or GRU layers (one over the other), a product for
// the next token. ids int64 [B, S] -> logits float32 [B, S, vocab]; every row starts from nothing.
// Tensors: embedding.weight [vocab, embedding]; layers.N.input [gates hidden, in], .recurrent
// [gates hidden, hidden], .bias [2 gates hidden] as in ONNX's LSTM and GRU; output.weight [vocab,
// hidden], output.bias.
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "hub/fields.h"
#include "modules/weights.h"

namespace hub {

Program build_rnn_lm(const NamedTensors& tensors, const json& config) {
  Fields fields(config, "options of rnn-lm");
  const std::string cell = fields.choice("cell", {"lstm", "gru"});
  const int64_t vocab = fields.integer("vocab", 2, 1 << 24);
  const int64_t width = fields.integer("embedding", 1, 1 << 16);
  const int64_t hidden = fields.integer("hidden", 1, 1 << 16);
  const int64_t layers = fields.integer("layers", 1, 64);
  fields.done();

  Program program;
  program.name = "rnn-lm";
  const Weights weights(tensors, program);
  const Var ids{&program, program.add_input("ids", {DType::i64, {-1, -1}})};
  // The layers walk along the first dimension.
  Var x = transpose(embedding(weights.take("embedding.weight", {vocab, width}), ids), {1, 0, 2});
  const int64_t wide = (cell == "lstm" ? 4 : 3) * hidden;
  const auto one_direction = [&](Var w, std::vector<int64_t> shape) {
    shape.insert(shape.begin(), 1);
    return reshape(w, std::move(shape));
  };
  Attrs how{{"hidden_size", hidden}};
  if (cell == "gru") how.set("linear_before_reset", int64_t{1});
  for (int64_t i = 0; i < layers; ++i) {
    const std::string name = concat("layers.", i, ".");
    const int64_t in = i == 0 ? width : hidden;
    const Var w = one_direction(weights.take(name + "input", {wide, in}), {wide, in});
    const Var r = one_direction(weights.take(name + "recurrent", {wide, hidden}), {wide, hidden});
    const Var b = one_direction(weights.take(name + "bias", {2 * wide}), {2 * wide});
    const Vars out = apply(*find_op(cell), {x, w, r, b}, how, cell == "lstm" ? 3 : 2);
    x = reshape(transpose(out.at(0), {0, 2, 1, 3}), {0, 0, hidden});  // [S, B, 1, H] to [S, B, H]
  }
  const Var logits = matmul(transpose(x, {1, 0, 2}), weights.take("output.weight", {vocab, hidden}),
                            weights.take("output.bias", {vocab}), false, true);
  program.rename(logits.id, "logits");
  program.outputs = {logits.id};
  return program;
}

}  // namespace hub
