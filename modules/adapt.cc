#include "modules/adapt.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "base/random.h"
#include "base/text.h"
#include "hub/fields.h"

namespace hub {
namespace {

constexpr std::string_view lora_a = ".lora_a", lora_b = ".lora_b";
constexpr std::string_view features_name = "head.features";

/// Numbers in [-1, 1) that depend on the seed and the name alone.
Tensor uniform(const Shape& shape, double bound, uint64_t seed, std::string_view name) {
  for (const char c : name) seed = seed * 1099511628211U + static_cast<unsigned char>(c);
  SplitMix64 random(seed);
  Tensor t(DType::f32, shape);
  for (int64_t i = 0; i < t.numel(); ++i) {
    const auto z = static_cast<double>(random.next() >> 11);
    t.data<float>()[i] = static_cast<float>((z * 0x1p-52 - 1) * bound);
  }
  return t;
}

Tensor zeros(const Shape& shape) {
  Tensor t(DType::f32, shape);
  std::fill_n(t.data<float>(), t.numel(), 0.0F);
  return t;
}

/// Who needs which parameter: the constant is replaced by `to` in every call before `first`.
void redirect(Program& program, ValueId from, ValueId to, size_t first) {
  for (size_t c = first; c < program.ops.size(); ++c) {
    for (ValueId& id : program.ops[c].in)
      if (id == from) id = to;
  }
}

void replace(Program& program, const std::string& name, const Tensor& tensor) {
  const ValueId id = program.find(name);
  if (id == absent || !program[id].constant)
    fail(Code::refused, "tuned tensor '", printable(name), "' is no parameter of the network");
  if (program[id].constant.spec() != tensor.spec())
    fail(Code::refused, "tuned tensor '", printable(name), "' is ", tensor.spec().str(), "; ",
         program[id].constant.spec().str(), " is wanted");
  program[id].constant = tensor;
}

/// constant + b a in place of the constant, computed first of all.
void add_lora(Program& program, const std::string& name, const Tensor& a, const Tensor& b) {
  const ValueId id = program.find(name);
  const bool there =
      id != absent && program[id].constant && program[id].constant.shape().rank() == 2;
  if (!there) fail(Code::refused, "'", printable(name), ".lora_a' has no matrix to be added to");
  const Shape& w = program[id].constant.shape();
  if (a.shape().rank() != 2 || b.shape().rank() != 2 || a.shape()[1] != w[1] ||
      b.shape()[0] != w[0] || a.shape()[0] != b.shape()[1])
    fail(Code::refused, "low-rank pair ", a.spec().str(), ", ", b.spec().str(), " does not fit '",
         printable(name), "' ", program[id].constant.spec().str());
  const size_t before = program.ops.size();
  const Var va = constant(program, a, concat(name, lora_a));
  const Var vb = constant(program, b, concat(name, lora_b));
  const Var sum = add({&program, id}, matmul(vb, va));
  const size_t made = program.ops.size() - before;
  std::rotate(program.ops.begin(), program.ops.begin() + static_cast<std::ptrdiff_t>(before),
              program.ops.end());
  redirect(program, id, sum.id, made);
}

/// The input of the last product with a matrix of parameters on the way to the output, and that
/// matrix's number of rows read: the features of a classifier.
ValueId classifier_features(const Program& program) {
  std::set<ValueId> wanted(program.outputs.begin(), program.outputs.begin() + 1);
  for (size_t c = program.ops.size(); c-- > 0;) {
    const OpCall& call = program.ops[c];
    const bool leads = std::any_of(call.out.begin(), call.out.end(),
                                   [&](ValueId id) { return wanted.contains(id); });
    if (!leads) continue;
    if (call.op->name == "matmul" && program[call.in[1]].constant) return call.in[0];
    for (ValueId id : call.in)
      if (id != absent) wanted.insert(id);
  }
  fail(Code::unsupported,
       "the network ends in no product whose input could be features; name them in the manifest "
       "(finetune.features)");
}

/// Whether what the network gives is the path of a CRF.
bool ends_in_path(const Program& program) {
  return std::any_of(program.ops.begin(), program.ops.end(), [&](const OpCall& call) {
    return call.op->name == "crf_decode" && call.out[0] == program.outputs.at(0);
  });
}

/// The last dimension of `features`: from what is known of a consumer, or by inference from the
/// constants around it.
int64_t feature_width(const Program& program, ValueId features) {
  for (const OpCall& call : program.ops) {
    if (call.op->name == "matmul" && call.in[0] == features && program[call.in[1]].constant) {
      const Shape& w = program[call.in[1]].constant.shape();
      return call.attrs.i("trans_b", 0) != 0 ? w[w.rank() - 1] : w[w.rank() - 2];
    }
    const bool makes = !call.out.empty() && call.out[0] == features;
    if (makes && call.op->name == "layer_norm" && call.in.size() > 1) {
      return program[call.in[1]].constant.shape()[0];
    }
    if (makes && call.op->name == "matmul" && program[call.in[1]].constant) {
      const Shape& w = program[call.in[1]].constant.shape();
      return call.attrs.i("trans_b", 0) != 0 ? w[w.rank() - 2] : w[w.rank() - 1];
    }
  }
  const Spec& declared = program[features].declared;
  if (declared.dtype != DType::none && declared.shape.rank() > 0 && declared.shape.back() > 0)
    return declared.shape.back();
  fail(Code::unsupported, "the width of the features '", program[features].name,
       "' is not known; name others in the manifest (finetune.features)");
}

class HeadBuilder {
 public:
  HeadBuilder(Program& program, const Head& head, const NamedTensors& tuned, uint64_t seed)
      : program_(program), head_(head), tuned_(tuned), seed_(seed) {}

  void build() {
    ValueId id = absent;
    if (!head_.features.empty()) {
      id = program_.find(head_.features);
      if (id == absent)
        fail(Code::refused, "the network has no value '", printable(head_.features), "'");
    } else {
      const bool last = head_.kind == "linear" ? head_.pool == "none"
                                               : head_.kind == "tags" && ends_in_path(program_);
      id = last ? classifier_features(program_) : program_.outputs.at(0);
    }
    width_ = feature_width(program_, id);
    const Var hidden{&program_, id};
    Var features = hidden;
    if (head_.kind == "tags" && program_.find("attention_mask") != absent) {
      const Var rows{&program_, program_.add_input("rows", {DType::i64, {-1}})};
      features = apply("gather", {reshape(hidden, {-1, width_}), rows}, {{"axis", int64_t{0}}});
    } else if (head_.pool != "none") {
      features = pooled(hidden);
    }
    if (features.id == id) features = apply("identity", {features});
    program_.rename(features.id, std::string(features_name));
    program_.outputs.clear();
    if (head_.kind == "embedding") return out(unit_length(features), "embedding");
    const Var w = parameter("head.weight", {head_.outputs, width_}, true);
    const Var logits =
        matmul(features, w, parameter("head.bias", {head_.outputs}, false), false, true);
    if (head_.kind == "span") return out(masked(logits), "logits");
    out(logits, "logits");
    if (head_.crf) {
      const Var t = parameter("head.transitions", {head_.outputs + 2, head_.outputs}, false);
      const Var offsets = sequence_offsets();
      out(apply("crf_decode", {logits, t, offsets}), "tags");
    }
  }

 private:
  void out(Var v, const std::string& name) {
    program_.rename(v.id, name);
    program_.outputs.push_back(v.id);
  }

  Var parameter(const std::string& name, const Shape& shape, bool random) {
    const auto it = tuned_.find(name);
    if (it != tuned_.end() && it->second.spec() != Spec{DType::f32, shape})
      fail(Code::refused, "tuned tensor '", name, "' is ", it->second.spec().str(), "; ",
           Spec{DType::f32, shape}.str(), " is wanted");
    const double bound = 1 / std::sqrt(static_cast<double>(width_));
    return constant(program_,
                    it != tuned_.end() ? it->second
                    : random           ? uniform(shape, bound, seed_, name)
                                       : zeros(shape),
                    name);
  }

  Var mask() {
    const ValueId id = program_.find("attention_mask");
    if (id == absent)
      fail(Code::unsupported, "the network has no input 'attention_mask' to pool by");
    return apply("cast", {Var{&program_, id}}, {{"to", "float32"}});
  }

  Var pooled(Var hidden) {
    if (head_.pool == "first") {
      return apply("gather", {hidden, constant(program_, Tensor::ints({0}).reshaped({}))},
                   {{"axis", int64_t{1}}});
    }
    const Var one = constant(program_, Tensor::ints({1})),
              last = constant(program_, Tensor::ints({-1}));
    const Var m = mask();
    const Var sum = apply("reduce_sum", {mul(hidden, apply("unsqueeze", {m, last})), one},
                          {{"keepdims", int64_t{0}}});
    return apply("div", {sum, apply("reduce_sum", {m, one}, {{"keepdims", int64_t{1}}})});
  }

  Var unit_length(Var x) {
    const Var last = constant(program_, Tensor::ints({-1}));
    return apply("div", {x, apply("reduce_l2", {x, last}, {{"keepdims", int64_t{1}}})});
  }

  /// Padding gets -1e4, which no softmax sees.
  Var masked(Var logits) {
    const Var last = constant(program_, Tensor::ints({-1}));
    const Var gone = apply("sub", {mask(), constant(program_, Tensor::scalar(1))});
    return add(logits,
               apply("unsqueeze", {mul(gone, constant(program_, Tensor::scalar(1e4F))), last}));
  }

  Var sequence_offsets() {
    for (ValueId id : program_.inputs) {
      if (program_[id].name.ends_with("offsets")) return {&program_, id};
    }
    return {&program_, program_.add_input("offsets", {DType::i64, {-1}})};
  }

  Program& program_;
  const Head& head_;
  const NamedTensors& tuned_;
  uint64_t seed_;
  int64_t width_ = 0;
};

}  // namespace

std::optional<Head> read_head(const json& object, const std::string& where) {
  if (object.empty()) return {};
  Fields f(object, where);
  Head head;
  head.kind = f.choice("kind", {"linear", "tags", "span", "embedding"});
  head.features = f.text("features", "");
  head.pool = f.choice("pool", {"none", "mean", "first"}, "none");
  head.outputs = f.integer("outputs", 1, 1 << 20, 1);
  head.crf = f.boolean("crf", false);
  f.done();
  return head;
}

json to_json(const Head& head) {
  json object = {{"kind", head.kind}, {"pool", head.pool}, {"outputs", head.outputs}};
  if (!head.features.empty()) object["features"] = head.features;
  if (head.crf) object["crf"] = true;
  return object;
}

void adapt(Program& program, const std::optional<Head>& head, const NamedTensors& tuned,
           uint64_t seed) {
  // First of all: low-rank products are no place to look for features.
  if (head) HeadBuilder(program, *head, tuned, seed).build();
  for (const auto& [name, tensor] : tuned) {
    if (name.starts_with("head.") || name.ends_with(lora_b)) continue;
    if (!name.ends_with(lora_a)) {
      replace(program, name, tensor);
      continue;
    }
    const std::string base = name.substr(0, name.size() - lora_a.size());
    const auto b = tuned.find(concat(base, lora_b));
    if (b == tuned.end()) fail(Code::refused, "'", printable(name), "' has no other half");
    add_lora(program, base, tensor, b->second);
  }
  program.check();
}

NamedTensors lora_tensors(const Program& program, int64_t rank, uint64_t seed) {
  NamedTensors pairs;
  for (const OpCall& call : program.ops) {
    if (call.op->name != "matmul") continue;
    const Value& w = program[call.in[1]];
    if (!w.constant || w.constant.dtype() != DType::f32 || w.constant.shape().rank() != 2) continue;
    const int64_t rows = w.constant.shape()[0], cols = w.constant.shape()[1];
    if (w.name.starts_with("head.") || std::min(rows, cols) <= rank) continue;
    const double bound = 1 / std::sqrt(static_cast<double>(cols));
    pairs.emplace(concat(w.name, lora_a), uniform({rank, cols}, bound, seed, w.name));
    pairs.emplace(concat(w.name, lora_b), zeros({rows, rank}));
  }
  if (pairs.empty())
    fail(Code::unsupported, "the network has no matrix product for low-rank training");
  return pairs;
}

ValueId head_features(const Program& program) {
  const ValueId id = program.find(features_name);
  if (id == absent) fail(Code::unsupported, "the network has no head of its own");
  return id;
}

}  // namespace hub
