// ONNX models: the graph put in order, checked, and rewritten node by node with the import rules of
// the operators.
#include <algorithm>
#include <climits>
#include <map>
#include <queue>
#include <set>

#include "base/error.h"
#include "runtime/budget.h"
#include "runtime/import/import.h"
#include "runtime/import/node.h"
#include "runtime/import/onnx_functions.h"
#include "runtime/import/onnx_tensor.h"
#include "runtime/import/wire.h"

namespace hub {
namespace {

constexpr int newest_ir = 13;

/// Models, graphs, nodes, attributes, tensors, value infos and what these hold.
constexpr WireMessage messages[] = {
    {'M', 7, 'g'},  {'M', 8, 'e'},  {'M', 25, 'f'}, {'g', 1, 'n'}, {'g', 5, 't'},  {'g', 11, 'v'},
    {'g', 12, 'v'}, {'g', 15, 's'}, {'n', 5, 'a'},  {'a', 5, 't'}, {'a', 6, 'g'},  {'a', 11, 'g'},
    {'f', 7, 'n'},  {'f', 9, 'e'},  {'f', 11, 'a'}, {'t', 3, 'e'}, {'t', 13, 'e'}, {'s', 1, 't'},
    {'v', 2, 'y'},  {'y', 1, 'o'},  {'y', 4, 'i'},  {'y', 5, 'e'}, {'y', 8, 'e'},  {'y', 9, 'i'},
    {'i', 1, 'y'},  {'o', 2, 'd'},  {'d', 1, 'e'}};

std::string key_of(const onnx::Node& node) {
  const std::string domain = onnx_domain(node.domain());
  return concat(domain.empty() ? "onnx" : domain, ":", node.op_type());
}

std::string title(const onnx::Node& node) {
  if (!node.name().empty()) return node.name();
  for (const std::string& name : node.output())
    if (!name.empty()) return name;
  return {};
}

bool is_constant(const onnx::Node& node) { return key_of(node) == "onnx:Constant"; }

void find_missing(const std::vector<OnnxNode>& nodes, std::map<std::string, std::string>& missing) {
  for (const auto& [node, version, blocks] : nodes) {
    for (const auto& [name, inner] : blocks) find_missing(inner, missing);
    if (is_constant(node) || find_import(key_of(node))) continue;
    const std::string domain = onnx_domain(node.domain());
    missing.try_emplace(key_of(node), concat(domain.empty() ? "" : domain + ":", node.op_type(),
                                             " (opset ", version, ", node '", title(node), "'",
                                             blocks.empty() ? "" : ", holds a subgraph", ")"));
  }
}

/// Every operator that has no rule, in one message.
void refuse_missing(const std::vector<OnnxNode>& nodes) {
  std::map<std::string, std::string> missing;
  find_missing(nodes, missing);
  if (missing.empty()) return;
  std::string list;
  for (const auto& [key, text] : missing) list += concat(list.empty() ? "" : ", ", text);
  fail(Code::unsupported, missing.size() == 1 ? "this operator" : "these operators",
       " cannot be imported yet: ", list);
}

class Graph {
 public:
  explicit Graph(OnnxExternalData& external, Graph* around = nullptr)
      : external_(external), around_(around) {}

  Program import(onnx::Model& model) {
    if (model.ir_version() < 1)
      fail(Code::refused, "it gives no IR version: no ONNX file, or a damaged one");
    if (model.ir_version() > newest_ir)
      fail(Code::unsupported, "IR version ", model.ir_version(), "; versions 1 to ", newest_ir,
           " can be imported");
    if (!model.has_graph()) fail(Code::refused, "it holds no graph");
    std::vector<OnnxNode> nodes = onnx_flat_nodes(model);
    refuse_missing(nodes);
    program_.name = model.graph().name();
    return import(*model.mutable_graph(), nodes);
  }

  Program import(onnx::Graph& graph, std::vector<OnnxNode>& nodes) {
    if (graph.sparse_initializer_size() > 0)
      fail(Code::unsupported, "sparse initializers cannot be imported");
    if (graph.output_size() == 0) fail(Code::refused, "its graph has no outputs");
    for (const OnnxNode& node : nodes) used_.merge(onnx_reads(node));
    for (const onnx::ValueInfo& output : graph.output()) used_.insert(output.name());
    add_initializers(graph);
    add_inputs(graph);
    for (size_t i : in_order(nodes)) add_node(nodes[i]);
    for (const onnx::ValueInfo& output : graph.output()) add_output(output);
    program_.check();
    return std::move(program_);
  }

  /// What it reads of the graph around it: its inputs behind those it lists itself.
  const Vars& captured() const { return captured_; }

 private:
  void define(const std::string& name, Var v) {
    if (!values_.emplace(name, v).second) fail(Code::refused, "'", name, "' is defined twice");
    // Values that a rule made up get the name that the file gives them.
    if (v && program_[v.id].name.starts_with('%')) program_.rename(v.id, name);
  }

  void add_initializers(onnx::Graph& graph) {
    for (onnx::Tensor& initializer : *graph.mutable_initializer()) {
      const std::string& name = initializer.name();
      if (name.empty()) fail(Code::refused, "an initializer has no name");
      const Tensor tensor = onnx_tensor(initializer, external_);
      define(name, used_.contains(name) ? constant(program_, tensor, name) : Var{});
    }
  }

  void add_inputs(const onnx::Graph& graph) {
    std::set<std::string> seen;
    for (const onnx::ValueInfo& input : graph.input()) {
      if (input.name().empty()) fail(Code::refused, "an input has no name");
      if (!seen.insert(input.name()).second)
        fail(Code::refused, "input '", input.name(), "' is listed twice");
      if (values_.contains(input.name()))
        continue;  // old files list their initializers as inputs too
      // Inside a loop shapes may change from round to round, whatever the file says.
      const Spec spec = onnx_spec(input);
      const Var v{&program_, program_.add_input(input.name(), around_ ? Spec{} : spec)};
      define(input.name(), is_optional(input) ? apply("optional_open", {v}) : v);
    }
  }

  /// Indices of the nodes, each after those it reads from; the file's own order where that is
  /// possible.
  std::vector<size_t> in_order(const std::vector<OnnxNode>& nodes) const {
    std::map<std::string_view, size_t> producer;
    for (size_t i = 0; i < nodes.size(); ++i)
      for (const std::string& name : nodes[i].node.output())
        if (!name.empty() && (values_.contains(name) || !producer.emplace(name, i).second))
          fail(Code::refused, "'", name, "' is defined twice, the second time by node '",
               title(nodes[i].node), "'");
    std::vector<std::vector<size_t>> readers(nodes.size());
    std::vector<size_t> waits(nodes.size());
    for (size_t i = 0; i < nodes.size(); ++i) {
      for (const std::string& name : onnx_reads(nodes[i])) {
        if (values_.contains(name)) continue;
        const auto it = producer.find(name);
        if (it == producer.end() && around_ != nullptr) continue;
        if (it == producer.end())
          fail(Code::refused, "node '", title(nodes[i].node), "' reads '", name,
               "', which nothing defines");
        readers[it->second].push_back(i);
        ++waits[i];
      }
    }
    std::priority_queue<size_t, std::vector<size_t>, std::greater<>> ready;
    for (size_t i = 0; i < nodes.size(); ++i)
      if (waits[i] == 0) ready.push(i);
    std::vector<size_t> order;
    for (; !ready.empty();) {
      order.push_back(ready.top());
      ready.pop();
      for (size_t reader : readers[order.back()])
        if (--waits[reader] == 0) ready.push(reader);
    }
    for (size_t i = 0; i < nodes.size(); ++i)
      if (waits[i] > 0)
        fail(Code::refused, "node '", title(nodes[i].node), "' depends on its own output");
    return order;
  }

  Var value(const std::string& name, std::string_view reader) {
    auto it = values_.find(name);
    if (it == values_.end() && around_ != nullptr)
      it = values_.emplace(name, capture(around_->value(name, reader), name)).first;
    if (it == values_.end())
      fail(Code::refused, reader, " reads '", name, "', which nothing defines");
    if (!it->second)
      fail(Code::unsupported, reader, " needs '", name,
           "', an output that its operator does not give here");
    return it->second;
  }

  /// A value of the graph around this one; constants stay constants.
  Var capture(Var outside, const std::string& name) {
    if (outside.constant()) return constant(program_, outside.constant(), name);
    captured_.push_back(outside);
    return {&program_, program_.add_input(name, {})};
  }

  void add_block(OnnxNode& from, onnx::Attribute& a, ImportNode& node) {
    if (node.attrs.has(a.name())) fail(Code::refused, "attribute '", a.name(), "' is there twice");
    Graph inner(external_, this);
    auto block = std::make_shared<const Program>(within(concat("graph '", a.name(), "'"), [&] {
      return inner.import(*a.mutable_g(), from.blocks.at(a.name()));
    }));
    node.attrs.set(a.name(), BlockPtr(std::move(block)));
    node.captured_.emplace(a.name(), inner.captured());
  }

  void add_node(OnnxNode& from) {
    onnx::Node& proto = from.node;
    if (is_constant(proto)) return add_constant(proto);
    if (from.version == 0)
      fail(Code::refused, "node '", title(proto), "' is of domain '", proto.domain(),
           "', whose version is not given");
    ImportNode node(program_, proto.op_type(), title(proto), from.version);
    const std::string where = concat(node.type, " node '", node.name, "'");
    for (const std::string& name : proto.input())
      node.positional_.push_back(name.empty() ? Var{} : value(name, where));
    node.wanted_outputs = static_cast<size_t>(proto.output_size());
    within(where, [&] {
      for (onnx::Attribute& a : *proto.mutable_attribute()) {
        if (a.has_g())
          add_block(from, a, node);
        else
          add_attribute(a, node.attrs);
      }
    });
    if (const std::string y = onnx_differentiated(proto); !y.empty()) {
      node.captured_.emplace("y", Vars{value(y, where)});
      Vars& xs = node.captured_["xs"];
      for (const std::string& x : node.attrs.strings("xs")) xs.push_back(value(x, where));
    }
    const size_t before = program_.ops.size();
    try {
      find_import(key_of(proto))->make(node);
    } catch (const Error& e) {
      const std::string_view what = e.what();
      if (what.find(where) != what.npos) throw;
      throw Error(e.code(), concat(where, ": ", what));
    }
    for (size_t i = before; i < program_.ops.size(); ++i)
      if (program_.ops[i].name.empty()) program_.ops[i].name = node.name;
    for (size_t i = 0; i < node.wanted_outputs; ++i) {
      const std::string& name = proto.output(static_cast<int>(i));
      const auto it = node.out_positional_.find(i);
      if (!name.empty()) define(name, it == node.out_positional_.end() ? Var{} : it->second);
    }
  }

  void add_constant(onnx::Node& node) {
    const std::string where = concat("Constant node '", title(node), "'");
    if (node.attribute_size() != 1 || node.output_size() != 1 || node.output(0).empty())
      fail(Code::refused, where, " must have one attribute and one output");
    Attrs attrs;
    within(where, [&] { add_attribute(*node.mutable_attribute(0), attrs); });
    const std::string& kind = node.attribute(0).name();
    Tensor tensor;
    if (kind == "value") {
      tensor = attrs.tensor(kind);
    } else if (kind == "value_float") {
      tensor = Tensor::scalar(static_cast<float>(attrs.f(kind)));
    } else if (kind == "value_int") {
      tensor = Tensor::ints({attrs.i(kind)}).reshaped({});
    } else if (kind == "value_ints") {
      tensor = Tensor::ints(attrs.ints(kind));
    } else if (kind == "value_floats") {
      const std::vector<double> values = attrs.floats(kind);
      tensor =
          Tensor::floats({static_cast<int64_t>(values.size())}, {values.begin(), values.end()});
    } else if (kind == "value_string") {
      tensor = Tensor::strings({}, {attrs.s(kind)});
    } else if (kind == "value_strings") {
      const std::vector<std::string> values = attrs.strings(kind);
      tensor = Tensor::strings({static_cast<int64_t>(values.size())}, values);
    } else {
      fail(Code::unsupported, where, " gives a ", kind);
    }
    define(node.output(0), constant(program_, tensor, node.output(0)));
  }

  void add_attribute(onnx::Attribute& a, Attrs& attrs) {
    if (a.name().empty() || attrs.has(a.name()))
      fail(Code::refused, "attribute '", a.name(), "' is there twice");
    if (!a.ref_attr_name().empty())
      fail(Code::refused, "attribute '", a.name(), "' refers to an attribute of no function");
    int type = a.type();
    if (type == 0) {  // files of the first IR versions do not say
      type = a.has_f()          ? 1
             : a.has_i()        ? 2
             : a.has_s()        ? 3
             : a.has_t()        ? 4
             : a.floats_size()  ? 6
             : a.strings_size() ? 8
                                : 7;
    }
    switch (type) {
      case 1: attrs.set(a.name(), static_cast<double>(a.f())); break;
      case 2: attrs.set(a.name(), a.i()); break;
      case 3: attrs.set(a.name(), a.s()); break;
      case 4: attrs.set(a.name(), onnx_tensor(*a.mutable_t(), external_)); break;
      case 6: attrs.set(a.name(), std::vector<double>(a.floats().begin(), a.floats().end())); break;
      case 7: attrs.set(a.name(), std::vector<int64_t>(a.ints().begin(), a.ints().end())); break;
      case 8:
        attrs.set(a.name(), std::vector<std::string>(a.strings().begin(), a.strings().end()));
        break;
      case 13: break;  // a type: values say theirs themselves
      default: fail(Code::unsupported, "attribute '", a.name(), "' is of kind ", type);
    }
  }

  void add_output(const onnx::ValueInfo& output) {
    Var v = value(output.name(), "the list of outputs");
    if (is_optional(output)) {
      if (program_[v.id].name == output.name())
        program_.rename(v.id, concat(output.name(), "~value"));
      v = apply("optional_close", {v});
    }
    // Inputs, constants and values that have another name already are handed out under this one.
    const Value& made = program_[v.id];
    if (made.name != output.name() || made.constant || !outputs_.insert(v.id).second ||
        is_input(v.id)) {
      v = apply("identity", {v});
      program_.rename(v.id, output.name());
    }
    if (around_ == nullptr || !output.type().has_optional_type())
      program_[v.id].declared = onnx_spec(output);
    program_.outputs.push_back(v.id);
  }

  /// Only the model itself takes and gives optional values as lists (ops/optional.cc).
  bool is_optional(const onnx::ValueInfo& info) const {
    return around_ == nullptr && info.type().has_optional_type();
  }

  bool is_input(ValueId id) const {
    return std::find(program_.inputs.begin(), program_.inputs.end(), id) != program_.inputs.end();
  }

  OnnxExternalData& external_;
  Graph* const around_;  ///< null: this is the model's own graph
  Vars captured_;
  Program program_;
  std::map<std::string, Var, std::less<>>
      values_;  ///< by name in the file; an empty one cannot be had
  std::set<std::string, std::less<>> used_;
  std::set<ValueId> outputs_;
};

}  // namespace

Program import_onnx(const Files& files, const RelPath& path) {
  const MappedFile file = files.open(path);
  return within(concat("ONNX model ", path.str()), [&] {
    return in_memory([&] {
      if (file.size() > INT_MAX)
        fail(Code::refused, "it is larger than 2 GiB; such models keep weights in external files");
      check_weight(file.text(), messages, 'M');
      onnx::Model model;
      if (!model.ParseFromArray(file.bytes().data(), static_cast<int>(file.size())))
        fail(Code::refused, "it is no ONNX file, or a damaged one");
      OnnxExternalData external(files, path);
      return Graph(external).import(model);
    });
  });
}

}  // namespace hub
