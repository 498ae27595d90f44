// The nodes of an ONNX graph with calls of the model's own functions replaced by what the functions
// do.
#pragma once

#include <vector>

#include "runtime/import/onnx.pb.h"

namespace hub {

struct OnnxNode {
  onnx::Node node;
  int version = 0;  ///< of the operator set of its domain; 0 when the file names none
};

/// Takes the nodes out of `model`. Checks the operator sets it asks for. Throws Code::refused,
/// unsupported.
std::vector<OnnxNode> onnx_flat_nodes(onnx::Model& model);

/// "" for the standard domain, under both its names.
std::string onnx_domain(const std::string& domain);

}  // namespace hub
