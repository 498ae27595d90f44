// Character models of textgenrnn (Woolf 2018): an embedding, LSTM layers one over the other, and
// the mean over all steps of embedding and layers, weighted by attention. ids int64 [B, S] ->
// logits float32 [B, vocab] of the token after them; every row starts from nothing, so the steps of
// a window that slides are all done anew. Tensors as Keras saved them with CuDNNLSTM layers:
// embedding/embedding/embeddings:0, rnn_N/rnn_N/{kernel,recurrent_kernel,bias}:0,
// attention/attention/attention_W:0, output/output/{kernel,bias}:0.
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "hub/fields.h"
#include "modules/weights.h"

namespace hub {
namespace {

/// CuDNN's gates i, f, c, o of [rows, 4 hidden], each of which lies as one block of numbers of
/// [hidden, rows], as ONNX's lstm has them: [4 hidden, rows] of i, o, f, c.
std::vector<float> reordered(Var cudnn, int64_t rows) {
  const std::vector<float> from = cudnn.constant().to_floats();
  const size_t wide = from.size() / static_cast<size_t>(rows), hidden = wide / 4;
  std::vector<float> to;
  to.reserve(from.size());
  for (const size_t gate : {0, 3, 1, 2})
    for (size_t r = 0; r < static_cast<size_t>(rows); ++r) {
      const float* part = from.data() + r * wide + gate * hidden;
      to.insert(to.end(), part, part + hidden);
    }
  return to;
}

}  // namespace

Program build_textgenrnn(const NamedTensors& tensors, const json& config) {
  Fields fields(config, "options of textgenrnn");
  const int64_t vocab = fields.integer("vocab", 2, 1 << 24);
  const int64_t width = fields.integer("embedding", 1, 1 << 16);
  const int64_t hidden = fields.integer("hidden", 1, 1 << 16);
  const int64_t layers = fields.integer("layers", 1, 64);
  fields.done();

  Program program, scratch;
  program.name = "textgenrnn";
  const Weights weights(tensors, program), keras(tensors, scratch);
  const Var ids{&program, program.add_input("ids", {DType::i64, {-1, -1}})};
  Vars all = {embedding(weights.take("embedding/embedding/embeddings:0", {vocab, width}), ids)};
  Var x = transpose(all[0], {1, 0, 2});  // the layers walk along the first dimension
  const int64_t wide = 4 * hidden;
  for (int64_t i = 0; i < layers; ++i) {
    const std::string name = concat("rnn_", i + 1, "/rnn_", i + 1, "/");
    const auto matrix = [&](const char* kind, int64_t in) {
      const Var from = keras.take(name + kind, {in, wide});
      return constant(program, Tensor::floats({1, wide, in}, reordered(from, in)), name + kind);
    };
    const Var w = matrix("kernel:0", i == 0 ? width : hidden);
    const Var r = matrix("recurrent_kernel:0", hidden);
    // The biases of the inputs, then those of the states.
    const std::vector<float> biases =
        keras.take(name + "bias:0", {2 * wide}).constant().to_floats();
    std::vector<float> both;
    for (const size_t half : {0, 1})
      for (const size_t gate : {0, 3, 1, 2}) {
        const float* part = biases.data() + (half * 4 + gate) * static_cast<size_t>(hidden);
        both.insert(both.end(), part, part + hidden);
      }
    const Var b = constant(program, Tensor::floats({1, 2 * wide}, both), name + "bias:0");
    const Vars out = apply(*find_op("lstm"), {x, w, r, b}, {{"hidden_size", hidden}}, 3);
    x = reshape(transpose(out.at(0), {0, 2, 1, 3}), {0, 0, hidden});  // [S, 1, B, H] to [S, B, H]
    all.push_back(transpose(x, {1, 0, 2}));
  }
  const int64_t features = width + layers * hidden;
  const Var steps = apply("concat", all, {{"axis", int64_t{2}}});
  const Var scores =
      matmul(steps, weights.take("attention/attention/attention_W:0", {features, 1}));
  const Var mean = reshape(matmul(softmax(scores, 1), steps, {}, true), {-1, features});
  const Var logits = matmul(mean, weights.take("output/output/kernel:0", {features, vocab}),
                            weights.take("output/output/bias:0", {vocab}));
  program.rename(logits.id, "logits");
  program[logits.id].declared = {DType::f32, {-1, vocab}};
  program.outputs = {logits.id};
  return program;
}

}  // namespace hub
