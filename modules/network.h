// Architectures: networks that are built here and filled from named tensors (checkpoints,
// safetensors). One file a family under networks/, one line in networks.list.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "runtime/runtime.h"

namespace hub {

using json = nlohmann::json;

/// Builds the program of one architecture. `weights` is checked by name and shape (Code::refused
/// names the tensor); `config` is the module's config file and the manifest's options together.
using NetworkBuilder = Program (*)(const NamedTensors& weights, const json& config);

/// Throws Code::unsupported with the architectures there are.
Program build_network(const std::string& architecture, const NamedTensors& weights,
                      const json& config);

}  // namespace hub
