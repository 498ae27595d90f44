// The BERT encoder on a tiny network whose result was worked out in NumPy.
#include <catch2/catch.hpp>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "modules/network.h"

using namespace hub;

namespace {

const json config = {{"hidden_size", 4},          {"num_hidden_layers", 2},
                     {"num_attention_heads", 2},  {"intermediate_size", 6},
                     {"layer_norm_eps", 1e-5},    {"hidden_act", "gelu"},
                     {"architectures", {"other"}}};

/// Tensor k in the order of names holds sin(1.3 i + k).
NamedTensors tiny() {
  NamedTensors tensors;
  const auto declare = [&](const std::string& name, const Shape& shape) {
    tensors[name] = Tensor(DType::f32, shape);
  };
  const auto pair = [&](const std::string& name, const Shape& shape) {
    declare(name + ".weight", shape);
    declare(name + ".bias", {shape[0]});
  };
  declare("embeddings.word_embeddings.weight", {5, 4});
  declare("embeddings.position_embeddings.weight", {6, 4});
  declare("embeddings.token_type_embeddings.weight", {2, 4});
  pair("embeddings.LayerNorm", {4});
  for (const std::string layer : {"encoder.layer.0.", "encoder.layer.1."}) {
    for (const char* name : {"query", "key", "value"})
      pair(layer + "attention.self." + name, {4, 4});
    pair(layer + "attention.output.dense", {4, 4});
    pair(layer + "attention.output.LayerNorm", {4});
    pair(layer + "intermediate.dense", {6, 4});
    pair(layer + "output.dense", {4, 6});
    pair(layer + "output.LayerNorm", {4});
  }
  int k = 0;
  for (auto& [name, tensor] : tensors) {
    for (int64_t i = 0; i < tensor.numel(); ++i) {
      tensor.data<float>()[i] = static_cast<float>(std::sin(1.3 * static_cast<double>(i) + k));
    }
    ++k;
  }
  return tensors;
}

Tensor ids(const Shape& shape, const std::vector<int64_t>& values) {
  return Tensor::ints(values).reshaped(shape);
}

}  // namespace

TEST_CASE("a BERT encoder gives the numbers of the definition at any length") {
  const std::vector<float> wanted = {
      0.68794f, 0.80829f, -0.60240f, -0.37718f, 0.67040f, 0.79708f, -0.61804f, -0.37737f,
      0.68284f, 0.80483f, -0.60656f, -0.37720f, 0.68790f, 0.80466f, -0.59646f, -0.37690f,
      0.69024f, 0.80649f, -0.59499f, -0.37691f, 0.68160f, 0.80138f, -0.60324f, -0.37701f};
  Session session(build_network("bert", tiny(), config));
  CHECK(session.program()[session.program().outputs[0]].name == "last_hidden_state");
  const Tensor both =
      session.run({ids({2, 3}, {1, 4, 2, 3, 0, 0}), ids({2, 3}, {1, 1, 1, 1, 1, 0})})[0];
  REQUIRE(both.shape() == Shape{2, 3, 4});
  for (size_t i = 0; i < wanted.size(); ++i)
    CHECK(both.data<float>()[i] == Approx(wanted[i]).margin(2e-5));

  const Tensor second = session.run({ids({1, 2}, {3, 0}), ids({1, 2}, {1, 1})})[0];
  for (size_t i = 0; i < 8; ++i)
    CHECK(second.data<float>()[i] == Approx(wanted[12 + i]).margin(2e-5));

  CHECK(
      session.run({ids({1, 6}, {1, 1, 1, 1, 1, 1}), ids({1, 6}, {1, 1, 1, 1, 1, 1})})[0].numel() ==
      24);
  CHECK_THROWS_AS(
      session.run({ids({1, 7}, {1, 1, 1, 1, 1, 1, 1}), ids({1, 7}, {1, 1, 1, 1, 1, 1, 1})}), Error);
}

TEST_CASE("a BERT that does not fit its config is refused by name") {
  NamedTensors missing = tiny();
  missing.erase("encoder.layer.1.output.dense.bias");
  CHECK_THROWS_WITH(build_network("bert", missing, config),
                    Catch::Contains("encoder.layer.1.output.dense.bias"));
  NamedTensors other = tiny();
  other["encoder.layer.0.intermediate.dense.weight"] = Tensor(DType::f32, {7, 4});
  CHECK_THROWS_WITH(build_network("bert", other, config),
                    Catch::Contains("encoder.layer.0.intermediate.dense.weight"));
  for (const json& change : {json{{"num_attention_heads", 3}}, json{{"hidden_act", "relu"}},
                             json{{"hidden_size", "4"}}, json{{"num_hidden_layers", 0}}}) {
    INFO(change);
    json changed = config;
    changed.update(change);
    CHECK_THROWS_WITH(build_network("bert", tiny(), changed),
                      Catch::Contains(change.begin().key()));
  }
}
