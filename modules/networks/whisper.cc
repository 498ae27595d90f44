// Whisper's encoder and decoder (Radford et al. 2022), from the tensor names of CTranslate2. Both
// take the options layers, heads, width (features of a position) and inner (of a feed-forward).
//
// whisper-encoder: mel float32 [B, bands, 2 M] -> states [B, M, width] and, for each layer i of the
// decoder, what it looks at: memory.keys.i, memory.values.i [B, M, width].
//
// whisper-decoder: S tokens of one sound at once, each seeing those of the C past and S present
// ones that it descends from, so that any number of hypotheses share one past:
//   ids, positions int64 [S]; seen float32 [S, C + S], added to the scores: 0 where a token sees
//   another, a large negative number elsewhere; wanted int64 [R], the tokens whose successors are
//   asked for; for each layer past.keys.i, past.values.i [C, width] and memory.keys.i,
//   memory.values.i [1, M, width]
//   -> logits [R, vocabulary]; keys.i, values.i [S, width], which are past for later tokens.
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "hub/fields.h"
#include "modules/weights.h"

namespace hub {
namespace {

class Whisper {
 public:
  Whisper(const NamedTensors& tensors, const json& config, Program& program)
      : program_(program), weights_(tensors, program) {
    Fields fields(config, concat("options of ", program.name));
    layers_ = fields.integer("layers", 1, 64);
    width_ = fields.integer("width", 1, 1 << 14);
    heads_ = fields.integer("heads", 1, width_);
    inner_ = fields.integer("inner", 1, 1 << 16);
    fields.done();
    if (width_ % heads_ != 0) fields.refuse("heads", concat("does not divide ", width_));
  }

  void encode() {
    const Var first = weights_.take("encoder/conv1/weight", {width_, -1, 3});
    const Var places = weights_.take("encoder/position_encodings/encodings", {-1, width_});
    const int64_t bands = first.constant().shape()[1];
    const int64_t frames = 2 * places.constant().shape()[0];
    Var x = input("mel", {DType::f32, {-1, bands, frames}});
    x = convolve(x, first, "encoder/conv1/bias", 1);
    x = convolve(x, weights_.take("encoder/conv2/weight", {width_, width_, 3}),
                 "encoder/conv2/bias", 2);
    x = add(transpose(x, {0, 2, 1}), places);
    for (int64_t i = 0; i < layers_; ++i) {
      const std::string name = concat("encoder/layer_", i, "/"), self = name + "self_attention/";
      const Var y = norm(x, self);
      const std::string in = self + "linear_0";
      const Var seen =
          attention(part(y, in, 0, 3), part(y, in, 1, 3), part(y, in, 2, 3), {}, heads_);
      x = feed_forward(add(x, dense(seen, self + "linear_1", width_, width_)), name);
    }
    x = norm(x, "encoder/");
    output(x, "states");
    for (int64_t i = 0; i < layers_; ++i) {
      const std::string from = concat("decoder/layer_", i, "/attention/linear_1");
      output(part(x, from, 0, 2), concat("memory.keys.", i));
      output(part(x, from, 1, 2), concat("memory.values.", i));
    }
  }

  void decode() {
    const Var ids = input("ids", {DType::i64, {-1}}), at = input("positions", {DType::i64, {-1}});
    const Var seen = input("seen", {DType::f32, {-1, -1}});
    const Var wanted = input("wanted", {DType::i64, {-1}});
    const Var words = weights_.take("decoder/embeddings/weight", {-1, width_});
    const Var places = weights_.take("decoder/position_encodings/encodings", {-1, width_});
    Var x = add(embedding(words, ids), embedding(places, at));
    for (int64_t i = 0; i < layers_; ++i) {
      const std::string name = concat("decoder/layer_", i, "/"), self = name + "self_attention/",
                        cross = name + "attention/";
      x = add(x, dense(look_back(norm(x, self), seen, i), self + "linear_1", width_, width_));
      const Var q = dense(norm(x, cross), cross + "linear_0", width_, width_);
      const Var keys = input(concat("memory.keys.", i), {DType::f32, {1, -1, width_}});
      const Var values = input(concat("memory.values.", i), {DType::f32, {1, -1, width_}});
      const Var heard = attention(reshape(q, {1, -1, width_}), keys, values, {}, heads_);
      x = add(x, dense(reshape(heard, {-1, width_}), cross + "linear_2", width_, width_));
      x = feed_forward(x, name);
    }
    const Var last = embedding(norm(x, "decoder/"), wanted);
    program_.outputs.insert(program_.outputs.begin(), matmul(last, words, {}, false, true).id);
    program_.rename(program_.outputs.front(), "logits");
  }

 private:
  Var input(const std::string& name, const Spec& spec) {
    return {&program_, program_.add_input(name, spec)};
  }
  void output(Var x, const std::string& name) {
    program_.rename(x.id, name);
    program_.outputs.push_back(x.id);
  }

  Var convolve(Var x, Var weight, const char* with, int64_t stride) {
    Conv how;
    how.strides = {stride};
    how.pads = {1, 1};
    return unary("gelu", conv(x, weight, bias(with, width_), how));
  }

  /// The attention of a layer of the decoder to the past and to the present; written out, because
  /// `attention` with a bias has no gradient.
  Var look_back(Var x, Var seen, int64_t layer) {
    const std::string from = concat("decoder/layer_", layer, "/self_attention/linear_0");
    const auto whole = [&](const char* kind, int64_t which) {
      const Var past = input(concat("past.", kind, ".", layer), {DType::f32, {-1, width_}});
      const Var now = part(x, from, which, 3);
      output(now, concat(kind, ".", layer));
      return by_head(apply("concat", {past, now}, {{"axis", int64_t{0}}}));
    };
    const Var keys = whole("keys", 1), values = whole("values", 2);
    const double scale = 1 / std::sqrt(static_cast<double>(width_ / heads_));
    const Var scores =
        matmul(by_head(part(x, from, 0, 3)), keys, {}, false, true, scale);  // [heads, S, C + S]
    const Var mixed = matmul(softmax(add(scores, seen), -1), values);
    return reshape(transpose(mixed, {1, 0, 2}), {-1, width_});
  }
  /// [heads, S, D] of [S, width].
  Var by_head(Var x) { return transpose(reshape(x, {-1, heads_, width_ / heads_}), {1, 0, 2}); }

  Var feed_forward(Var x, const std::string& name) {
    const std::string ffn = name + "ffn/";
    const Var wide = unary("gelu", dense(norm(x, ffn), ffn + "linear_0", width_, inner_));
    return add(x, dense(wide, ffn + "linear_1", inner_, width_));
  }

  Var dense(Var x, const std::string& name, int64_t in, int64_t out) {
    return matmul(x, weights_.take(name + "/weight", {out, in}), bias(name + "/bias", out), false,
                  true);
  }
  /// One of the `parts` products that lie in one matrix, one under the other.
  Var part(Var x, const std::string& name, int64_t which, int64_t parts) {
    const auto rows = [&](Var all) {
      const auto ints = [&](int64_t value) { return constant(program_, Tensor::ints({value})); };
      return apply("slice", {all, ints(which * width_), ints((which + 1) * width_), ints(0)});
    };
    return matmul(x, rows(shared(name + "/weight", {parts * width_, width_})),
                  rows(shared(name + "/bias", {parts * width_})), false, true);
  }
  /// A tensor that is taken once and used by several parts.
  Var shared(const std::string& name, const Shape& shape) {
    const auto [it, fresh] = shared_.try_emplace(name);
    if (fresh) it->second = weights_.take(name, shape);
    return it->second;
  }
  Var bias(const std::string& name, int64_t size) { return weights_.take(name, {size}); }
  Var norm(Var x, const std::string& name) {
    return layer_norm(x, bias(name + "layer_norm/gamma", width_),
                      bias(name + "layer_norm/beta", width_), 1e-5);
  }

  Program& program_;
  Weights weights_;
  int64_t layers_ = 0, heads_ = 0, width_ = 0, inner_ = 0;
  std::map<std::string, Var> shared_;
};

}  // namespace

Program build_whisper_encoder(const NamedTensors& tensors, const json& config) {
  Program program;
  program.name = "whisper-encoder";
  Whisper(tensors, config, program).encode();
  return program;
}

Program build_whisper_decoder(const NamedTensors& tensors, const json& config) {
  Program program;
  program.name = "whisper-decoder";
  Whisper(tensors, config, program).decode();
  return program;
}

}  // namespace hub
