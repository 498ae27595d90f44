// if(condition, captured…): one of two blocks, `then` and `else`, over the captured values. Both
// take all of them and give as many outputs; only the one that is taken runs.
#include "base/error.h"
#include "runtime/block.h"
#include "runtime/ops/grad.h"
#include "runtime/ops/kernel.h"
#include "runtime/ops/rules.h"

namespace hub {
namespace {

void check_blocks(const Attrs& attrs, size_t inputs) {
  const Program& a = *attrs.block("then");
  const Program& b = *attrs.block("else");
  for (const Program* block : {&a, &b})
    if (block->inputs.size() + 1 != inputs)
      fail(Code::refused, "a block takes ", block->inputs.size(), " values, ", inputs - 1,
           " are given");
  if (a.outputs.empty() || a.outputs.size() != b.outputs.size())
    fail(Code::refused, "its blocks give ", a.outputs.size(), " and ", b.outputs.size(),
         " results; as many and at least one are wanted");
}

bool truth(const Tensor& condition) {
  if (condition.dtype() != DType::boolean || condition.numel() != 1)
    fail(Code::refused, "the condition is ", condition.spec().str(), ", one bool is wanted");
  return *condition.data<bool>();
}

/// What a block gives; nothing where numbers decide, or where it cannot run on such inputs, which
/// is no mistake while it is not taken.
std::optional<std::vector<Spec>> specs_if_runs(const Program& block,
                                               const std::vector<Spec>& inputs) {
  try {
    return block_specs(block, inputs);
  } catch (const Error&) {
    return {};
  }
}

std::vector<Spec> infer_if(const Infer& in) {
  check_blocks(in.attrs, in.size());
  check_type(in, 0, Types<bool>{});
  std::vector<Spec> inputs;
  for (size_t i = 1; i < in.size(); ++i) inputs.push_back(in.in(i));
  const auto a = specs_if_runs(*in.attrs.block("then"), inputs);
  const auto b = specs_if_runs(*in.attrs.block("else"), inputs);
  if (a && a == b) return *a;
  const auto specs = block_specs(*in.attrs.block(truth(in.value(0)) ? "then" : "else"), inputs);
  if (!specs) throw ValueUnknown{};
  return *specs;
}

std::vector<Tensor> run_if(const Attrs& attrs, std::span<const Tensor* const> in,
                           const RunBlock& run) {
  check_blocks(attrs, in.size());
  std::vector<Tensor> inputs;
  take_inputs(in, 0, inputs);
  const bool holds = truth(inputs[0]);
  inputs.erase(inputs.begin());
  return run(attrs.block(holds ? "then" : "else"), inputs);
}

/// The block that gives the gradients of the captured values that are wanted: it reads them, and
/// then the gradients of the outputs.
BlockPtr gradient_block(Grad& g, const Program& block) {
  auto program = std::make_shared<Program>();
  Program& p = *program;
  Vars x;
  std::vector<ValueId> from;
  for (size_t i = 1; i < g.size(); ++i) {
    x.push_back({&p, p.add_input({}, {})});
    if (g.wants(i)) from.push_back(block.inputs[i - 1]);
  }
  const auto moves = depending_on(block, from);
  const Vars y = append_block(p, block, x);
  Var loss;
  for (size_t k = 0; k < g.outputs(); ++k) {
    if (!g.dy(k)) continue;
    const Var dy{&p, p.add_input({}, {})};
    if (!moves[static_cast<size_t>(block.outputs[k])]) continue;
    const Var part = apply("reduce_sum", {mul(dy, y[k])}, {{"keepdims", int64_t{0}}});
    loss = loss ? add(loss, part) : part;
  }
  Vars wrt;
  for (size_t i = 1; i < g.size(); ++i)
    if (g.wants(i)) wrt.push_back(x[i - 1]);
  const Vars dx = loss ? append_backward(p, loss, wrt) : Vars(wrt.size());
  for (size_t i = 0; i < wrt.size(); ++i)
    p.outputs.push_back((dx[i] ? apply("identity", {dx[i]}) : zeros_like(wrt[i])).id);
  return program;
}

void grad_if(Grad& g) {
  Vars in;
  for (size_t i = 0; i < g.size(); ++i) in.push_back(g.x(i));
  for (size_t k = 0; k < g.outputs(); ++k)
    if (g.dy(k)) in.push_back(g.dy(k));
  std::vector<size_t> wanted;
  for (size_t i = 1; i < g.size(); ++i)
    if (g.wants(i)) wanted.push_back(i);
  const Vars dx = apply(*find_op("if"), in,
                        {{"then", gradient_block(g, *g.attrs.block("then"))},
                         {"else", gradient_block(g, *g.attrs.block("else"))}},
                        wanted.size());
  for (size_t k = 0; k < wanted.size(); ++k) g.dx(wanted[k], dx[k]);
}

/// `block` with `before` and `behind` further inputs around its own, which it does not read.
BlockPtr widened(const BlockPtr& block, size_t before, size_t behind) {
  auto wide = std::make_shared<Program>(*block);
  for (size_t i = 0; i < before + behind; ++i) wide->add_input({}, {});
  std::rotate(wide->inputs.begin(),
              wide->inputs.begin() + static_cast<std::ptrdiff_t>(block->inputs.size()),
              wide->inputs.begin() + static_cast<std::ptrdiff_t>(block->inputs.size() + before));
  return wide;
}

void onnx_if(ImportNode& n) {
  const Vars out = append_if(n.need(0), n.attrs.block("then_branch"), n.captured("then_branch"),
                             n.attrs.block("else_branch"), n.captured("else_branch"));
  for (size_t k = 0; k < out.size(); ++k) n.out(k, out[k]);
}

}  // namespace

Vars append_if(Var condition, const BlockPtr& then, const Vars& a, const BlockPtr& otherwise,
               const Vars& b) {
  Vars in{condition};
  in.insert(in.end(), a.begin(), a.end());
  in.insert(in.end(), b.begin(), b.end());
  return apply(*find_op("if"), in,
               {{"then", widened(then, 0, b.size())}, {"else", widened(otherwise, a.size(), 0)}},
               then->outputs.size());
}

extern const OpDef if_op = {
    .name = "if",
    .max_inputs = -1,
    .outputs = -1,
    .infer = infer_if,
    .run = run_if,
    .grad = grad_if,
    .settings = 0b1,
    .strings = true,
    .lists = true,
    .imports = {{"onnx:If", onnx_if}},
};

}  // namespace hub
