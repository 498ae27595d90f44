// BERT encoders, post-norm, absolute positions (Devlin et al. 2018), from the tensor names of
// Hugging Face's BertModel. input_ids, attention_mask int64 [B, S] -> last_hidden_state [B, S,
// hidden]; every token is of type 0.
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "hub/fields.h"
#include "modules/weights.h"

namespace hub {
namespace {

class Bert {
 public:
  Bert(const NamedTensors& tensors, const json& config, Program& program)
      : weights_(tensors, program) {
    Fields fields(config, "config");  // the file says more than is needed here
    hidden_ = fields.integer("hidden_size", 1, 1 << 16);
    layers_ = fields.integer("num_hidden_layers", 1, 1 << 10);
    heads_ = fields.integer("num_attention_heads", 1, hidden_);
    inner_ = fields.integer("intermediate_size", 1, 1 << 20);
    epsilon_ = fields.number("layer_norm_eps");
    fields.choice("hidden_act", {"gelu"});
    fields.choice("position_embedding_type", {"absolute"}, "absolute");
    if (hidden_ % heads_ != 0)
      fields.refuse("num_attention_heads", concat("does not divide ", hidden_));
  }

  Var encode(Var ids, Var mask) {
    Var x = embed(ids);
    for (int64_t i = 0; i < layers_; ++i) x = layer(x, mask, concat("encoder.layer.", i, "."));
    return x;
  }

 private:
  Var embed(Var ids) {
    const auto ints = [&](std::vector<int64_t> values) {
      return constant(*ids.program, Tensor::ints(values));
    };
    const Var words = weights_.take("embeddings.word_embeddings.weight", {-1, hidden_});
    const Var positions = weights_.take("embeddings.position_embeddings.weight", {-1, hidden_});
    const Var types = weights_.take("embeddings.token_type_embeddings.weight", {-1, hidden_});
    const Var length = apply("shape", {ids}, {{"start", int64_t{1}}, {"end", int64_t{2}}});
    const Var used = apply("slice", {positions, ints({0}), length, ints({0})});
    const Var x = add(embedding(words, ids), add(used, embedding(types, ints({0}))));
    return norm(x, "embeddings.LayerNorm.");
  }

  Var layer(Var x, Var mask, const std::string& name) {
    const std::string self = name + "attention.self.";
    const Var q = dense(x, self + "query.", hidden_, hidden_);
    const Var k = dense(x, self + "key.", hidden_, hidden_);
    const Var v = dense(x, self + "value.", hidden_, hidden_);
    const Var seen =
        dense(attention(q, k, v, mask, heads_), name + "attention.output.dense.", hidden_, hidden_);
    x = norm(add(seen, x), name + "attention.output.LayerNorm.");
    const Var wide = unary("gelu", dense(x, name + "intermediate.dense.", hidden_, inner_));
    return norm(add(dense(wide, name + "output.dense.", inner_, hidden_), x),
                name + "output.LayerNorm.");
  }

  Var dense(Var x, const std::string& name, int64_t in, int64_t out) {
    const Var weight = weights_.take(name + "weight", {out, in}),
              bias = weights_.take(name + "bias", {out});
    return matmul(x, weight, bias, false, true);
  }

  Var norm(Var x, const std::string& name) {
    const Var scale = weights_.take(name + "weight", {hidden_}),
              bias = weights_.take(name + "bias", {hidden_});
    return layer_norm(x, scale, bias, epsilon_);
  }

  Weights weights_;
  int64_t hidden_ = 0, layers_ = 0, heads_ = 0, inner_ = 0;
  double epsilon_ = 0;
};

}  // namespace

Program build_bert(const NamedTensors& weights, const json& config) {
  Program program;
  program.name = "bert";
  const Var ids{&program, program.add_input("input_ids", {DType::i64, {-1, -1}})};
  const Var mask{&program, program.add_input("attention_mask", {DType::i64, {-1, -1}})};
  const Var hidden = Bert(weights, config, program).encode(ids, mask);
  program.rename(hidden.id, "last_hidden_state");
  program.outputs = {hidden.id};
  return program;
}

}  // namespace hub
