// Sequences of ONNX that are more than one operator on a list, and tensor arrays of Paddle.
#include "runtime/block.h"
#include "runtime/ops/rules.h"
#include "runtime/ops/sequence.h"

namespace hub {

void onnx_sequence_empty(ImportNode& n) {
  n.out(0, apply(n.program, *find_op("list_make"), {})[0]);
}

/// A loop over the items of the first list; each round it appends what the body gives to lists that
/// it carries on.
void onnx_sequence_map(ImportNode& n) {
  const BlockPtr& body = n.attrs.block("body");
  const Vars captured = n.captured("body");
  const size_t results = body->outputs.size();
  if (body->inputs.size() != n.inputs() + captured.size())
    n.refuse("its body takes ", body->inputs.size(), " values, ", n.inputs(), " are given");
  auto round = std::make_shared<Program>();
  const auto input = [&] { return Var{round.get(), round->add_input({}, {})}; };
  const Var index = input();
  const Var condition = input();
  Vars lists;
  for (size_t k = 0; k < results; ++k) lists.push_back(input());
  Vars x;
  for (size_t i = 0; i < n.inputs(); ++i)
    x.push_back(apply("list_at", {input(), index}, {{"whole", int64_t{i > 0}}}));
  for (size_t i = 0; i < captured.size(); ++i) x.push_back(input());
  round->outputs = {apply("identity", {condition}).id};
  const Vars y = append_block(*round, *body, x);
  for (size_t k = 0; k < results; ++k)
    round->outputs.push_back(apply("list_insert", {lists[k], y[k]}).id);

  Vars in{apply("list_length", {n.need(0)}), Var{}};
  for (size_t k = 0; k < results; ++k) in.push_back(apply(n.program, *find_op("list_make"), {})[0]);
  for (size_t i = 0; i < n.inputs(); ++i) in.push_back(n.need(i));
  in.insert(in.end(), captured.begin(), captured.end());
  const Vars out =
      apply(*find_op("while"), in,
            {{"body", BlockPtr(round)}, {"carried", static_cast<int64_t>(results)}}, results);
  for (size_t k = 0; k < results; ++k) n.out(k, out[k]);
}

void paddle_write_array(ImportNode& n) {
  n.out("Out", apply("list_write", {n.in("Array"), n.need("I"), n.need("X")}));
}

void paddle_read_array(ImportNode& n) {
  n.out("Out", apply("list_at", {n.need("X"), n.need("I")}));
}

void paddle_array_length(ImportNode& n) {
  n.out("Out", reshape(apply("list_length", {n.need("X")}), {1}));
}

void paddle_join_array(ImportNode& n) {
  n.out("Out", apply("list_concat", {n.need("X")},
                     {{"axis", n.attrs.i("axis", 0)}, {"new_axis", n.attrs.i("use_stack", 0)}}));
}

}  // namespace hub
