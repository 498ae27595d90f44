// Optional values of ONNX. Inside a program one is the value itself, or nothing: a list whose only
// item is absent. A program takes and gives it as a list of one or none.
//  optional_open(list), optional_close(x): from and to that list;
//  optional_none(): nothing; optional_has(x): whether it is something; optional_get(x): the value,
//  refused of nothing.
#include "runtime/ops/kernel.h"
#include "runtime/ops/objects.h"
#include "runtime/ops/rules.h"
#include "runtime/ops/sequence.h"

namespace hub {
namespace {

using Inputs = std::span<const Tensor* const>;

Tensor nothing() { return Tensor::list({Tensor()}); }

bool is_nothing(const Tensor& t) {
  return t.dtype() == DType::list && t.items().size() == 1 && !t.items()[0];
}

const Tensor& need(Inputs in) {
  if (in.empty() || in[0] == nullptr) fail(Code::refused, "its input is missing");
  return *in[0];
}

std::vector<Spec> infer_list(const Infer&) { return {{DType::list, {}}}; }
std::vector<Spec> infer_truth(const Infer&) { return {{DType::boolean, {}}}; }
std::vector<Spec> infer_value(const Infer&) { throw ValueUnknown{}; }

std::vector<Tensor> run_open(const Attrs&, Inputs in, const RunBlock&) {
  const auto& items = need(in).items();
  if (items.size() > 1)
    fail(Code::refused, "an optional value is a list of one item or none, ", items.size(),
         " were given");
  return {items.empty() ? nothing() : items[0]};
}
std::vector<Tensor> run_close(const Attrs&, Inputs in, const RunBlock&) {
  const Tensor& x = need(in);
  return {is_nothing(x) ? list_of({}) : list_of({x})};
}
std::vector<Tensor> run_none(const Attrs&, Inputs, const RunBlock&) { return {nothing()}; }
std::vector<Tensor> run_has(const Attrs&, Inputs in, const RunBlock&) {
  Tensor y(DType::boolean, {});
  *y.data<bool>() = !is_nothing(need(in));
  return {y};
}
std::vector<Tensor> run_get(const Attrs&, Inputs in, const RunBlock&) {
  if (is_nothing(need(in))) fail(Code::refused, "the optional value holds nothing");
  return {need(in)};
}

void onnx_optional(ImportNode& n) {
  n.out(0, n.in(0) ? apply("identity", {n.in(0)})
                   : apply(n.program, *find_op("optional_none"), {})[0]);
}
void onnx_has_element(ImportNode& n) {
  n.out(0, n.in(0) ? apply("optional_has", {n.in(0)})
                   : constant(n.program, scalar_of(DType::boolean, 0)));
}

}  // namespace

extern const std::vector<OpDef> optional_ops = {
    list_op("optional_open", 1, 1, infer_value, run_open, {}),
    list_op("optional_close", 1, 1, infer_list, run_close, {}),
    list_op("optional_none", 0, 0, infer_list, run_none, {{"onnx:Optional", onnx_optional}}),
    list_op("optional_has", 1, 1, infer_truth, run_has,
            {{"onnx:OptionalHasElement", onnx_has_element}}),
    list_op("optional_get", 1, 1, infer_value, run_get,
            {{"onnx:OptionalGetElement", onnx_same<"optional_get">}}),
};

}  // namespace hub
