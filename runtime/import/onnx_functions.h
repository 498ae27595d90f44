// The nodes of an ONNX graph, and of the graphs in its nodes, with calls of the model's own
// functions replaced by what the functions do.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "runtime/import/onnx.pb.h"

namespace hub {

struct OnnxNode {
  onnx::Node node;
  int version = 0;  ///< of the operator set of its domain; 0 when the file names none
  std::map<std::string, std::vector<OnnxNode>> blocks;  ///< the nodes of its graphs, by attribute
};

/// What a Gradient node differentiates; "" of any other node.
std::string onnx_differentiated(const onnx::Node& node);

/// The names that a node reads, those that its graphs read of the graph around them included.
std::set<std::string> onnx_reads(const OnnxNode& node);

/// Takes the nodes out of `model`. Checks the operator sets it asks for. Throws Code::refused,
/// unsupported.
std::vector<OnnxNode> onnx_flat_nodes(onnx::Model& model);

/// "" for the standard domain, under both its names.
std::string onnx_domain(const std::string& domain);

}  // namespace hub
