// TensorFlow Lite models: the first subgraph, operator by operator, with the import rules of
// runtime/ops/tflite_import.cc. Pictures keep the file's order, channels last; passes turn them.
// Numbers of fields, operators and types are those of TensorFlow's schema.fbs.
#include <algorithm>

#include "base/text.h"
#include "runtime/budget.h"
#include "runtime/import/flat.h"
#include "runtime/import/import.h"
#include "runtime/import/node.h"
#include "runtime/import/tflite_sparse.h"
#include "runtime/tensor_bytes.h"

namespace hub {
namespace {

/// An option of an operator: b a byte, i a 32-bit integer, f a float.
struct Option {
  const char* name;
  char type;
  int64_t field;
};
struct Operator {
  int code;
  const char* name;
  std::vector<Option> options = {};
};

const std::vector<Operator>& operators() {
  static const std::vector<Option> activation = {{"activation", 'b', 0}};
  static const std::vector<Option> pool = {{"padding", 'b', 0},  {"stride_w", 'i', 1},
                                           {"stride_h", 'i', 2}, {"filter_w", 'i', 3},
                                           {"filter_h", 'i', 4}, {"activation", 'b', 5}};
  static const std::vector<Option> corners = {{"align_corners", 'b', 2}, {"half_pixel", 'b', 3}};
  static const std::vector<Operator> all = {
      {0, "ADD", activation},
      {1, "AVERAGE_POOL_2D", pool},
      {2, "CONCATENATION", {{"axis", 'i', 0}, {"activation", 'b', 1}}},
      {3,
       "CONV_2D",
       {{"padding", 'b', 0},
        {"stride_w", 'i', 1},
        {"stride_h", 'i', 2},
        {"activation", 'b', 3},
        {"dilation_w", 'i', 4},
        {"dilation_h", 'i', 5}}},
      {4,
       "DEPTHWISE_CONV_2D",
       {{"padding", 'b', 0},
        {"stride_w", 'i', 1},
        {"stride_h", 'i', 2},
        {"activation", 'b', 4},
        {"dilation_w", 'i', 5},
        {"dilation_h", 'i', 6}}},
      {5, "DEPTH_TO_SPACE", {{"block", 'i', 0}}},
      {6, "DEQUANTIZE"},
      {9, "FULLY_CONNECTED", {{"activation", 'b', 0}, {"format", 'b', 1}, {"keep", 'b', 2}}},
      {14, "LOGISTIC"},
      {17, "MAX_POOL_2D", pool},
      {18, "MUL", activation},
      {19, "RELU"},
      {21, "RELU6"},
      {22, "RESHAPE"},
      {23, "RESIZE_BILINEAR", corners},
      {25, "SOFTMAX", {{"beta", 'f', 0}}},
      {28, "TANH"},
      {34, "PAD"},
      {39, "TRANSPOSE"},
      {40, "MEAN", {{"keep", 'b', 0}}},
      {41, "SUB", activation},
      {42, "DIV", activation},
      {43, "SQUEEZE"},
      {45,
       "STRIDED_SLICE",
       {{"begin_mask", 'i', 0},
        {"end_mask", 'i', 1},
        {"ellipsis_mask", 'i', 2},
        {"new_mask", 'i', 3},
        {"shrink_mask", 'i', 4}}},
      {54, "PRELU"},
      {55, "MAXIMUM"},
      {57, "MINIMUM"},
      {117, "HARD_SWISH"},
      {124, "DENSIFY"}};
  return all;
}
constexpr int custom = 32;
/// Weights of which one in a hundred is left are as sparse as published networks get; a few bytes
/// must not ask for all memory.
constexpr size_t densest = 256;

DType dtype_of(int type, std::string_view name) {
  constexpr DType types[] = {DType::f32,  DType::f16,  DType::i32,     DType::u8,
                             DType::i64,  DType::none, DType::boolean, DType::i16,
                             DType::none, DType::i8,   DType::f64};
  if (type < 0 || type >= static_cast<int>(std::size(types)) || types[type] == DType::none)
    fail(Code::unsupported, "tensor '", printable(name), "' has type ", type);
  return types[type];
}

class Importer {
 public:
  explicit Importer(const MappedFile& file)
      : file_(file), model_(file.text(), 0), densified_left_(densest * file.text().size()) {}

  Program import() {
    if (model_.number<uint32_t>(0, 0) != 3)
      fail(Code::unsupported, "version ", model_.number<uint32_t>(0, 0),
           " of the format; 3 is known");
    const FlatVector graphs = model_.vector(2, 4);
    if (graphs.size() == 0) fail(Code::refused, "it holds no subgraph");
    const FlatTable graph = model_.element(graphs, 0);
    tensors_ = graph.vector(0, 4);
    values_.resize(tensors_.size());
    const FlatVector inputs = graph.vector(1, 4), outputs = graph.vector(2, 4);
    for (size_t i = 0; i < inputs.size(); ++i) {
      const FlatTable t = tensor(inputs.number<int32_t>(i), graph);
      Var& v = values_[static_cast<size_t>(inputs.number<int32_t>(i))];
      if (v) fail(Code::refused, "an input is listed twice");
      v = {&program_, program_.add_input(std::string(t.text(3)), spec_of(t))};
    }
    const FlatVector calls = graph.vector(3, 4);
    for (size_t i = 0; i < calls.size(); ++i) add(graph, graph.element(calls, i));
    if (outputs.size() == 0) fail(Code::refused, "its subgraph has no outputs");
    for (size_t i = 0; i < outputs.size(); ++i) {
      const int32_t id = outputs.number<int32_t>(i);
      const Var v = value(graph, id);
      const std::string name(tensor(id, graph).text(3));
      if (program_[v.id].name.starts_with('%')) program_.rename(v.id, name);
      program_.outputs.push_back(v.id);
    }
    program_.check();
    return std::move(program_);
  }

 private:
  FlatTable tensor(int32_t id, const FlatTable& graph) const {
    if (id < 0 || static_cast<size_t>(id) >= tensors_.size())
      fail(Code::refused, "tensor ", id, " of ", tensors_.size());
    const FlatTable t = graph.element(tensors_, static_cast<size_t>(id));
    if (!valid_utf8(t.text(3)))
      fail(Code::refused, "the name of tensor ", id, " is not valid UTF-8");
    return t;
  }

  static Spec spec_of(const FlatTable& t) {
    const FlatVector shape = t.vector(0, 4);
    if (shape.size() > Shape::max_rank)
      fail(Code::unsupported, "tensor '", printable(t.text(3)), "' has ", shape.size(),
           " dimensions");
    Spec spec{dtype_of(t.number<int8_t>(1, 0), t.text(3)), {}};
    std::vector<int64_t> sizes;
    for (size_t d = 0; d < shape.size(); ++d) {
      sizes.push_back(shape.number<int32_t>(d));
      if (sizes.back() < 0)
        fail(Code::refused, "tensor '", printable(t.text(3)), "' has a size of ", sizes.back());
    }
    spec.shape = Shape(sizes);
    return spec;
  }

  /// The numbers of a tensor in the file, or nothing.
  std::string_view buffer(const FlatTable& t) const {
    const FlatVector buffers = model_.vector(4, 4);
    const auto at = t.number<uint32_t>(2, 0);
    if (at >= buffers.size()) fail(Code::refused, "buffer ", at, " of ", buffers.size());
    const FlatTable buffer = model_.element(buffers, at);
    if (buffer.has(1)) fail(Code::unsupported, "buffers outside of the table");
    return buffer.text(0);
  }

  Tensor constant_of(const FlatTable& t, std::string_view bytes) {
    const Spec spec = spec_of(t);
    if (const auto sparsity = t.table(6)) {
      const size_t dense = bytes_of(spec);
      if (dense > densified_left_)
        fail(Code::refused, "tensor '", printable(t.text(3)), "' of ", bytes.size(),
             " bytes would be ", spec.str(), "; sparse tensors may take ", densest,
             " times the file's size in all");
      densified_left_ -= dense;
      return tflite_densified(spec, *sparsity, bytes);
    }
    if (bytes_of(spec) != bytes.size())
      fail(Code::refused, "tensor '", printable(t.text(3)), "' holds ", bytes.size(), " bytes; ",
           spec.str(), " takes ", bytes_of(spec));
    // What the file aligns is read in place.
    if (reinterpret_cast<uintptr_t>(bytes.data()) % 8 == 0)
      return {spec.dtype, spec.shape, file_.owner(), bytes.data()};
    Tensor copy(spec.dtype, spec.shape);
    std::memcpy(copy.raw(), bytes.data(), bytes.size());
    return copy;
  }

  Var value(const FlatTable& graph, int32_t id) {
    if (id == -1) return {};
    const FlatTable t = tensor(id, graph);
    Var& v = values_[static_cast<size_t>(id)];
    if (v) return v;
    const std::string_view bytes = buffer(t);
    if (bytes.empty())
      fail(Code::refused, "tensor '", printable(t.text(3)), "' is read before anything writes it");
    v = constant(program_, constant_of(t, bytes), std::string(t.text(3)));
    return v;
  }

  void add(const FlatTable& graph, const FlatTable& call) {
    const FlatVector codes = model_.vector(1, 4);
    const auto at = call.number<uint32_t>(0, 0);
    if (at >= codes.size()) fail(Code::refused, "operator code ", at, " of ", codes.size());
    const FlatTable code = model_.element(codes, at);
    const int number = std::max<int>(code.number<int8_t>(0, 0), code.number<int32_t>(3, 0));
    const Operator* op = nullptr;
    for (const Operator& o : operators())
      if (o.code == number) op = &o;
    const std::string type = number == custom ? std::string(code.text(1))
                             : op != nullptr  ? op->name
                                              : concat(number);
    const FlatVector inputs = call.vector(1, 4), outputs = call.vector(2, 4);
    if (outputs.size() == 0) fail(Code::refused, "an operator ", printable(type), " has no output");
    const FlatTable first = tensor(outputs.number<int32_t>(0), graph);
    ImportNode node(program_, type, std::string(first.text(3)), code.number<int32_t>(2, 1));
    const Import* rule = find_import("tflite:" + type);
    if (rule == nullptr)
      fail(Code::unsupported, "operator ", printable(type), " cannot be imported yet");
    for (size_t i = 0; i < inputs.size(); ++i) {
      node.positional_.push_back(value(graph, inputs.number<int32_t>(i)));
      if (inputs.number<int32_t>(i) >= 0)
        node.attrs.set(concat("shape", i),
                       spec_of(tensor(inputs.number<int32_t>(i), graph)).shape.vec());
    }
    node.attrs.set("output_shape", spec_of(first).shape.vec());
    node.wanted_outputs = outputs.size();
    if (op != nullptr) read_options(*op, call, node.attrs);
    const FlatVector extra = call.vector(5, 1);
    if (number == custom) {
      std::vector<int64_t> numbers;  // a struct of C integers, for the operators known here
      for (size_t i = 0; i < extra.size() / 4 && i < 16; ++i)
        numbers.push_back(extra.number<int32_t>(i));
      node.attrs.set("custom", numbers);
    }
    within(concat(printable(type), " '", printable(node.name), "'"), [&] { rule->make(node); });
    for (size_t i = 0; i < outputs.size(); ++i) {
      const auto made = node.out_positional_.find(i);
      const int32_t id = outputs.number<int32_t>(i);
      const FlatTable t = tensor(id, graph);
      if (made == node.out_positional_.end()) continue;
      Var& v = values_[static_cast<size_t>(id)];
      if (v) fail(Code::refused, "tensor '", printable(t.text(3)), "' is written twice");
      v = made->second;
    }
  }

  static void read_options(const Operator& op, const FlatTable& call, Attrs& attrs) {
    const auto options = call.table(4);
    for (const Option& o : op.options) {
      const auto field = static_cast<size_t>(o.field);
      if (o.type == 'f') {
        attrs.set(o.name, options ? options->number<float>(field, 1) : 1.0);
      } else {
        // A dilation that is left out is 1; all else 0.
        const bool one = std::string_view(o.name).starts_with("dilation");
        const int64_t value = !options        ? one
                              : o.type == 'b' ? options->number<uint8_t>(field, 0)
                                              : options->number<int32_t>(field, one ? 1 : 0);
        attrs.set(o.name, value);
      }
    }
  }

  const MappedFile& file_;
  FlatTable model_;
  size_t densified_left_;
  FlatVector tensors_;
  Program program_;
  Vars values_;
};

}  // namespace

Program import_tflite(const MappedFile& file) {
  return in_memory([&] { return Importer(file).import(); });
}

}  // namespace hub
