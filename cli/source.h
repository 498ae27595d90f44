// What an argument of inspect and infer names: a module (a bare name, always) or a file (anything
// with a '/' or a '.').
#pragma once

#include <optional>
#include <string>

#include "hub/hub.h"

namespace hub {

/// The module that `word` asks for; nothing when it is the path of a file.
std::optional<Request> module_request(const std::string& word);

}  // namespace hub
