// What fine-tuning adds to a network of any format: changed parameters, low-rank deltas, a new head
// behind its features. Training and every later load build the same program from the same parts.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "runtime/runtime.h"

namespace hub {

using json = nlohmann::json;

/// The manifest's networks.X.head:
///   kind      "linear": logits [B, outputs] from one row of features an input
///             "tags":   logits [T, outputs] of the T token rows that input `rows` picks; with
///                       "crf", transitions for a decoder
///             "span":   logits [B, S, 2] of begin and end, masked by the attention mask
///             "embedding": the pooled features, of unit length
///   features  the value it stands on; "" finds it: the input of the last product of the network,
///             or its output when that is a row a token; of tags where a path
///             comes out, the input of the last product before it
///   pool      "none", "mean" (over the tokens of attention_mask) or "first"
struct Head {
  std::string kind = "linear", features, pool = "none";
  int64_t outputs = 1;
  bool crf = false;
};
/// Throws Code::refused naming the key. Nothing when the object is empty.
std::optional<Head> read_head(const json& head, const std::string& where);
json to_json(const Head& head);

/// Makes the program end in the head. Tensors of `tuned` take the place of the constants of their
/// name; "X.lora_a" [r, cols] and "X.lora_b" [rows, r] add their product to constant X [rows,
/// cols]; "head.weight" [outputs, features], "head.bias" and "head.transitions" fill the head.
/// Where `tuned` lacks the head it is made: uniform in ±1/sqrt(features) from `seed`. Throws
/// Code::refused naming a tensor that does not fit.
void adapt(Program& program, const std::optional<Head>& head, const NamedTensors& tuned,
           uint64_t seed = 0);

/// Low-rank pairs for every constant that `picked` names and a matmul multiplies by: a uniform from
/// `seed`, b zero.
NamedTensors lora_tensors(const Program& program, int64_t rank, uint64_t seed);

/// The value that the head stands on, in a program as adapt leaves it: what precedes it depends on
/// nothing of the head. Called "head.features".
ValueId head_features(const Program& program);

}  // namespace hub
