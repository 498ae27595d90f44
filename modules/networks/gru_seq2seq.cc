// A sequence into another one by two GRUs: the encoder's last state is where the decoder begins,
// which is run a step at a time. Two architectures out of the same tensors, named as in PyTorch
// with an underscore: P_emb, P_w_ih, P_w_hh, P_b_ih, P_b_hh with P enc or dec; fc_w, fc_b.
//   gru-encoder: ids int64 [B, S], lengths int32 [B] -> state float32 [B, hidden]
//   gru-decoder: id int64 [B], state float32 [B, hidden] -> logits float32 [B, symbols], state
// Options: "hidden".
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "hub/fields.h"
#include "modules/networks/torch_rnn.h"
#include "modules/weights.h"

namespace hub {
namespace {

int64_t hidden_of(const json& config, const char* architecture) {
  Fields fields(config, concat("options of ", architecture));
  const int64_t hidden = fields.integer("hidden", 1, 1 << 14);
  fields.done();
  return hidden;
}

/// The last states [B, hidden] of the ids [S, B].
Var gru(Program& program, const NamedTensors& tensors, const std::string& prefix, Var ids,
        Var lengths, Var state, int64_t hidden) {
  const Weights weights(tensors, program);
  Program scratch;
  const Weights torch(tensors, scratch);
  const Var table = weights.take(prefix + "_emb", {-1, -1});
  const int64_t width = table.constant().shape()[1], wide = 3 * hidden;
  const auto matrix = [&](const char* kind, int64_t in) {
    const std::string name = concat(prefix, "_w_", kind);
    const std::vector<float> values = gru_gates(torch.take(name, {wide, in}));
    return constant(program, Tensor::floats({1, wide, in}, values), name);
  };
  const Var w = matrix("ih", width), r = matrix("hh", hidden);
  std::vector<float> biases = gru_gates(torch.take(prefix + "_b_ih", {wide}));
  const std::vector<float> recurrent = gru_gates(torch.take(prefix + "_b_hh", {wide}));
  biases.insert(biases.end(), recurrent.begin(), recurrent.end());
  const Var b = constant(program, Tensor::floats({1, 2 * wide}, biases), prefix + "_b");
  const Vars out = apply(*find_op("gru"), {embedding(table, ids), w, r, b, lengths, state},
                         {{"hidden_size", hidden}, {"linear_before_reset", int64_t{1}}}, 2);
  return reshape(out.at(1), {-1, hidden});
}

}  // namespace

Program build_gru_encoder(const NamedTensors& tensors, const json& config) {
  const int64_t hidden = hidden_of(config, "gru-encoder");
  Program program;
  program.name = "gru-encoder";
  const Var ids{&program, program.add_input("ids", {DType::i64, {-1, -1}})};
  const Var lengths{&program, program.add_input("lengths", {DType::i32, {-1}})};
  const Var state = gru(program, tensors, "enc", transpose(ids, {1, 0}), lengths, {}, hidden);
  program.rename(state.id, "state");
  program.outputs = {state.id};
  return program;
}

Program build_gru_decoder(const NamedTensors& tensors, const json& config) {
  const int64_t hidden = hidden_of(config, "gru-decoder");
  Program program;
  program.name = "gru-decoder";
  const Weights weights(tensors, program);
  const Var id{&program, program.add_input("id", {DType::i64, {-1}})};
  const Var before{&program, program.add_input("state", {DType::f32, {-1, hidden}})};
  const Var state = gru(program, tensors, "dec", reshape(id, {1, -1}), {},
                        reshape(before, {1, -1, hidden}), hidden);
  const Var logits =
      matmul(state, weights.take("fc_w", {-1, hidden}), weights.take("fc_b", {-1}), false, true);
  program.rename(logits.id, "logits");
  program.outputs = {logits.id, state.id};
  return program;
}

}  // namespace hub
