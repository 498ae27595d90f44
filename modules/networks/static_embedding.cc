// Static embeddings: a row of a table for each token, whatever stands around it (model2vec,
// WordLlama). input_ids, attention_mask int64 [B, S] -> last_hidden_state [B, S, width]; the mask
// is there for the head that pools by it.
#include <nlohmann/json.hpp>

#include "hub/fields.h"
#include "modules/weights.h"

namespace hub {

/// Options: "tensor", the table's name.
Program build_static_embedding(const NamedTensors& tensors, const json& config) {
  Fields fields(config, "options of static-embedding");
  const std::string name = fields.text("tensor");
  fields.done();
  Program program;
  program.name = "static-embedding";
  const Var ids{&program, program.add_input("input_ids", {DType::i64, {-1, -1}})};
  program.add_input("attention_mask", {DType::i64, {-1, -1}});
  const Var table = Weights(tensors, program).take(name, {-1, -1});
  const Var rows = embedding(table, ids);
  program[rows.id].declared = {DType::f32, {-1, -1, table.constant().shape()[1]}};
  program.rename(rows.id, "last_hidden_state");
  program.outputs = {rows.id};
  return program;
}

}  // namespace hub
