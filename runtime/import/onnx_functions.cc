#include "runtime/import/onnx_functions.h"

#include <functional>
#include <map>
#include <set>
#include <tuple>

#include "base/error.h"

namespace hub {
namespace {

constexpr int newest_opset = 24;
constexpr int deepest = 32;                     // functions calling functions, graphs in graphs
constexpr size_t most_bytes = size_t{1} << 26;  // of nodes written out, 256 and its own size each
using Versions = std::map<std::string, int>;
using FunctionKey = std::tuple<std::string, std::string, std::string>;

Versions read_versions(const google::protobuf::RepeatedPtrField<onnx::OperatorSet>& sets) {
  Versions versions;
  for (const onnx::OperatorSet& set : sets) {
    const std::string domain = onnx_domain(set.domain());
    if (set.version() < 1 || (domain.empty() && set.version() > newest_opset) ||
        set.version() > INT32_MAX)
      fail(Code::unsupported, "operator set ", domain.empty() ? std::string("ai.onnx") : domain,
           " version ", set.version(),
           domain.empty() ? concat("; versions 1 to ", newest_opset, " can be imported") : "");
    if (!versions.emplace(domain, static_cast<int>(set.version())).second)
      fail(Code::refused, "operator set '", domain, "' is listed twice");
  }
  return versions;
}

class Inliner {
 public:
  explicit Inliner(onnx::Model& model)
      : model_(model), versions_(read_versions(model.opset_import())) {
    if (model.ir_version() < 3) versions_.emplace("", 1);
    if (versions_.empty()) fail(Code::refused, "it lists no operator set");
    for (const onnx::Function& f : model.functions())
      if (!functions_.emplace(FunctionKey(onnx_domain(f.domain()), f.name(), f.overload()), &f)
               .second)
        fail(Code::refused, "function '", f.name(), "' is defined twice");
  }

  std::vector<OnnxNode> run() { return flat(*model_.mutable_graph(), versions_, 0); }

 private:
  void add(onnx::Node node, const Versions& versions, int depth) {
    const std::string domain = onnx_domain(node.domain());
    const auto f = functions_.find(FunctionKey(domain, node.op_type(), node.overload()));
    if (f != functions_.end()) return inline_call(node, *f->second, depth);
    const auto v = versions.find(domain);
    OnnxNode made;
    made.version = v == versions.end() ? 0 : v->second;
    for (onnx::Attribute& a : *node.mutable_attribute())
      if (a.has_g()) made.blocks[a.name()] = flat(*a.mutable_g(), versions, depth + 1);
    made.node = std::move(node);
    out_.push_back(std::move(made));
  }

  std::vector<OnnxNode> flat(onnx::Graph& graph, const Versions& versions, int depth) {
    if (depth > deepest) fail(Code::refused, "graphs lie in nodes more than ", deepest, " deep");
    std::vector<OnnxNode> around;
    around.swap(out_);
    for (onnx::Node& node : *graph.mutable_node()) add(std::move(node), versions, depth);
    around.swap(out_);
    return around;
  }

  void inline_call(const onnx::Node& call, const onnx::Function& f, int depth) {
    const std::string where = concat("function '", f.name(), "'");
    if (depth == deepest)
      fail(Code::refused, where, ": functions call each other more than ", deepest, " deep");
    if (call.input_size() > f.input_size() || call.output_size() > f.output_size())
      fail(Code::refused, where, ": node '", call.name(), "' has more inputs or outputs than it");
    // Names inside become names of the caller; what is not passed is absent.
    std::map<std::string, std::string> names{{"", ""}};
    for (int i = 0; i < f.input_size(); ++i)
      if (!names.emplace(f.input(i), i < call.input_size() ? call.input(i) : "").second)
        fail(Code::refused, where, ": input '", f.input(i), "' is listed twice");
    std::vector<std::pair<std::string, std::string>> passed_through;
    for (int i = 0; i < call.output_size(); ++i) {
      if (call.output(i).empty()) continue;
      if (!names.emplace(f.output(i), call.output(i)).second)
        passed_through.emplace_back(f.output(i), call.output(i));
    }
    Versions versions = read_versions(f.opset_import());
    const std::string prefix =
        concat(call.name().empty() ? f.name() : call.name(), "#", ++calls_, "/");
    const Rename rename = [&](std::string& name) {
      name = names.try_emplace(name, prefix + name).first->second;
    };
    for (const onnx::Node& inner : f.node()) {
      onnx::Node node = inner;
      node.set_name(prefix + inner.name());
      localise(node, call, f, rename);
      spent_ += 256 + node.ByteSizeLong();
      if (spent_ > most_bytes)
        fail(Code::refused, where, ": written out, the functions take more than ", most_bytes,
             " bytes");
      add(std::move(node), versions, depth + 1);
    }
    for (const auto& [from, to] : passed_through) {
      onnx::Node node;
      node.set_op_type("Identity");
      node.add_input(names.at(from));
      node.add_output(to);
      out_.push_back({std::move(node), versions_.contains("") ? versions_.at("") : 1, {}});
    }
  }

  using Rename = std::function<void(std::string&)>;

  /// A node of a function, and those in its graphs, with names and attributes of the caller.
  static void localise(onnx::Node& node, const onnx::Node& call, const onnx::Function& f,
                       const Rename& rename) {
    for (std::string& name : *node.mutable_input()) rename(name);
    for (std::string& name : *node.mutable_output()) rename(name);
    const auto attributes = node.attribute();
    node.clear_attribute();
    for (const onnx::Attribute& a : attributes) bind(a, call, f, node);
    for (onnx::Attribute& a : *node.mutable_attribute()) {
      if (!a.has_g()) continue;
      onnx::Graph& graph = *a.mutable_g();
      for (auto* infos : {graph.mutable_input(), graph.mutable_output()})
        for (onnx::ValueInfo& info : *infos) rename(*info.mutable_name());
      for (onnx::Tensor& t : *graph.mutable_initializer()) rename(*t.mutable_name());
      for (onnx::Node& inner : *graph.mutable_node()) localise(inner, call, f, rename);
    }
  }

  /// An attribute of a node inside; one that refers to an attribute of the function gets the
  /// caller's or the default.
  static void bind(const onnx::Attribute& a, const onnx::Node& call, const onnx::Function& f,
                   onnx::Node& node) {
    if (a.ref_attr_name().empty()) {
      *node.add_attribute() = a;
      return;
    }
    const auto take = [&](const google::protobuf::RepeatedPtrField<onnx::Attribute>& from) {
      for (const onnx::Attribute& candidate : from) {
        if (candidate.name() != a.ref_attr_name()) continue;
        onnx::Attribute& bound = *node.add_attribute();
        bound = candidate;
        bound.set_name(a.name());
        return true;
      }
      return false;
    };
    if (!take(call.attribute())) take(f.attribute_proto());
  }

  onnx::Model& model_;
  Versions versions_;
  std::map<FunctionKey, const onnx::Function*> functions_;
  std::vector<OnnxNode> out_;
  size_t spent_ = 0;
  int calls_ = 0;
};

}  // namespace

std::string onnx_domain(const std::string& domain) {
  return domain == "ai.onnx" ? std::string() : domain;
}

std::string onnx_differentiated(const onnx::Node& node) {
  if (node.op_type() != "Gradient" || node.domain() != "ai.onnx.preview.training") return {};
  for (const onnx::Attribute& a : node.attribute())
    if (a.name() == "y") return a.s();
  return {};
}

std::set<std::string> onnx_reads(const OnnxNode& node) {
  std::set<std::string> names(node.node.input().begin(), node.node.input().end());
  names.insert(onnx_differentiated(node.node));
  for (const onnx::Attribute& a : node.node.attribute()) {
    if (!a.has_g()) continue;
    std::set<std::string> inside;
    std::set<std::string> made;
    for (const OnnxNode& inner : node.blocks.at(a.name())) {
      inside.merge(onnx_reads(inner));
      made.insert(inner.node.output().begin(), inner.node.output().end());
    }
    for (const onnx::ValueInfo& output : a.g().output()) inside.insert(output.name());
    for (const onnx::ValueInfo& input : a.g().input()) made.insert(input.name());
    for (const onnx::Tensor& t : a.g().initializer()) made.insert(t.name());
    for (const std::string& name : inside)
      if (!made.contains(name)) names.insert(name);
  }
  names.erase("");
  return names;
}

std::vector<OnnxNode> onnx_flat_nodes(onnx::Model& model) { return Inliner(model).run(); }

}  // namespace hub
