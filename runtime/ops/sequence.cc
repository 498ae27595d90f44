// Lists of tensors, which may differ in type and shape; indices count from the back when negative.
//  list_make(x…); list_length(list);
//  list_at(list, index): an item; with `whole` = 1 something that is no list is given as it is;
//  list_insert(list, x, index?): x before the item, or at the end; list_erase(list, index?):
//  without the item, or without the last; list_write(list?, index, x): x in place of the item, in a
//  list that grows as far as needed: what was not written yet cannot be read; list_concat(list):
//  the items joined along `axis`, which is a new one with `new_axis` = 1; list_split(x, sizes?):
//  the parts of x along `axis` (0), of the sizes given or of one size, the last one smaller, or of
//  1, and then without that axis when `keepdims` = 0.
#include "runtime/ops/sequence.h"

#include "runtime/ops/kernel.h"
#include "runtime/ops/objects.h"
#include "runtime/ops/rules.h"

namespace hub {
namespace {

using Inputs = std::span<const Tensor* const>;

bool has(Inputs in, size_t i) { return i < in.size() && in[i] != nullptr; }

const Tensor& need(Inputs in, size_t i) {
  if (!has(in, i)) fail(Code::refused, "input ", i, " is missing");
  return *in[i];
}

/// Input i as an index from 0 to `end`, which is excluded; negative ones count from `length`.
size_t index_of(Inputs in, size_t i, size_t length, size_t end) {
  const Tensor& t = need(in, i);
  if (t.numel() != 1) fail(Code::refused, "the index is ", t.spec().str(), ", one is wanted");
  const int64_t index = t.to_ints()[0];
  const auto from_front = index < 0 ? index + static_cast<int64_t>(length) : index;
  if (from_front < 0 || static_cast<size_t>(from_front) >= end)
    fail(Code::refused, "item ", index, " of a list of ", length);
  return static_cast<size_t>(from_front);
}

std::vector<Spec> infer_list(const Infer&) { return {{DType::list, {}}}; }
std::vector<Spec> infer_count(const Infer&) { return {{DType::i64, {}}}; }
std::vector<Spec> infer_item(const Infer&) { throw ValueUnknown{}; }

std::vector<Tensor> run_make(const Attrs&, Inputs in, const RunBlock&) {
  std::vector<Tensor> items;
  for (size_t i = 0; i < in.size(); ++i) items.push_back(need(in, i));
  return {list_of(std::move(items))};
}

std::vector<Tensor> run_length(const Attrs&, Inputs in, const RunBlock&) {
  return {Tensor::ints({static_cast<int64_t>(need(in, 0).items().size())}).reshaped({})};
}

std::vector<Tensor> run_at(const Attrs& attrs, Inputs in, const RunBlock&) {
  const Tensor& list = need(in, 0);
  if (list.dtype() != DType::list && attrs.i("whole", 0) != 0) return {list};
  const auto& items = list.items();
  const size_t i = index_of(in, 1, items.size(), items.size());
  if (!items[i]) fail(Code::refused, "item ", i, " of the list was never written");
  return {items[i]};
}

std::vector<Tensor> run_insert(const Attrs&, Inputs in, const RunBlock&) {
  std::vector<Tensor> items = need(in, 0).items();
  const size_t at = has(in, 2) ? index_of(in, 2, items.size(), items.size() + 1) : items.size();
  items.insert(items.begin() + static_cast<std::ptrdiff_t>(at), need(in, 1));
  return {list_of(std::move(items))};
}

std::vector<Tensor> run_erase(const Attrs&, Inputs in, const RunBlock&) {
  std::vector<Tensor> items = need(in, 0).items();
  if (items.empty()) fail(Code::refused, "the list is empty");
  const size_t at = has(in, 1) ? index_of(in, 1, items.size(), items.size()) : items.size() - 1;
  items.erase(items.begin() + static_cast<std::ptrdiff_t>(at));
  return {list_of(std::move(items))};
}

std::vector<Tensor> run_write(const Attrs&, Inputs in, const RunBlock&) {
  constexpr size_t most = size_t{1} << 16;
  std::vector<Tensor> items = has(in, 0) ? in[0]->items() : std::vector<Tensor>{};
  const size_t at = index_of(in, 1, items.size(), most);
  if (at >= items.size()) items.resize(at + 1);
  items[at] = need(in, 2);
  return {list_of(std::move(items))};
}

std::vector<Tensor> run_concat(const Attrs& attrs, Inputs in, const RunBlock&) {
  const bool stacks = attrs.i("new_axis", 0) != 0;
  std::vector<Tensor> parts = need(in, 0).items();
  if (parts.empty()) fail(Code::refused, "an empty list cannot be joined");
  std::vector<const Tensor*> pointers;
  for (Tensor& t : parts) {
    if (!t) fail(Code::refused, "an item of the list was never written");
    if (stacks) {
      std::vector<int64_t> dims = t.shape().vec();
      dims.insert(
          dims.begin() + static_cast<std::ptrdiff_t>(axis_of(attrs.i("axis"), dims.size() + 1)), 1);
      t = t.reshaped(Shape(dims));
    }
    pointers.push_back(&t);
  }
  return run_reference(*find_op("concat"), {{"axis", attrs.i("axis")}}, pointers);
}

/// The sizes of the parts along an axis of `length`.
std::vector<int64_t> part_sizes(int64_t length, Inputs in) {
  constexpr int64_t most = int64_t{1} << 16;
  if (has(in, 1) && in[1]->shape().rank() > 0) return in[1]->to_ints();
  const int64_t size = has(in, 1) ? in[1]->to_ints().at(0) : 1;
  if (size < 1 || (length + size - 1) / size > most)
    fail(Code::refused, length, " rows in parts of ", size);
  std::vector<int64_t> sizes;
  for (int64_t at = 0; at < length; at += size) sizes.push_back(std::min(size, length - at));
  return sizes;
}

std::vector<Tensor> run_split(const Attrs& attrs, Inputs in, const RunBlock&) {
  const Tensor& x = need(in, 0);
  const size_t axis = axis_of(attrs.i("axis", 0), x.shape().rank());
  const auto sizes = part_sizes(x.shape()[axis], in);
  if (sizes.empty()) return {list_of({})};
  const Tensor wanted = Tensor::ints(sizes);
  const Tensor* const given[] = {&x, &wanted};
  auto parts = run_reference(*find_op("split"), {{"axis", static_cast<int64_t>(axis)}}, given);
  if (!has(in, 1) && attrs.i("keepdims", 1) == 0) {
    std::vector<int64_t> dims = x.shape().vec();
    dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(axis));
    for (Tensor& t : parts) t = t.reshaped(Shape(dims));
  }
  return {list_of(std::move(parts))};
}

}  // namespace

OpDef list_op(std::string_view name, int min_inputs, int max_inputs,
              std::vector<Spec> (*infer)(const Infer&), decltype(OpDef::run) run,
              std::vector<Import> imports) {
  return {.name = name,
          .min_inputs = min_inputs,
          .max_inputs = max_inputs,
          .infer = infer,
          .run = run,
          .no_grad = "gradients do not pass through lists",
          .strings = true,
          .lists = true,
          .imports = std::move(imports)};
}

extern const std::vector<OpDef> sequence_ops = {
    list_op("list_make", 0, -1, infer_list, run_make,
            {{"onnx:SequenceConstruct", onnx_same<"list_make">},
             {"onnx:SequenceEmpty", onnx_sequence_empty}}),
    list_op("list_length", 1, 1, infer_count, run_length,
            {{"onnx:SequenceLength", onnx_same<"list_length">},
             {"paddle:lod_array_length", paddle_array_length}}),
    list_op("list_at", 2, 2, infer_item, run_at,
            {{"onnx:SequenceAt", onnx_same<"list_at">},
             {"paddle:read_from_array", paddle_read_array},
             {"onnx:SequenceMap", onnx_sequence_map}}),
    list_op("list_insert", 2, 3, infer_list, run_insert,
            {{"onnx:SequenceInsert", onnx_same<"list_insert">}}),
    list_op("list_erase", 1, 2, infer_list, run_erase,
            {{"onnx:SequenceErase", onnx_same<"list_erase">}}),
    list_op("list_write", 3, 3, infer_list, run_write,
            {{"paddle:write_to_array", paddle_write_array}}),
    list_op("list_concat", 1, 1, infer_item, run_concat,
            {{"onnx:ConcatFromSequence", onnx_same<"list_concat">},
             {"paddle:tensor_array_to_tensor", paddle_join_array}}),
    list_op("list_split", 1, 2, infer_list, run_split,
            {{"onnx:SplitToSequence", onnx_same<"list_split">}}),
};

}  // namespace hub
