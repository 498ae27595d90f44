// The list of architectures.
#include "modules/network.h"

#include <nlohmann/json.hpp>
#include <vector>

#include "base/error.h"
#include "base/text.h"

namespace hub {

#define NETWORK(name, build) Program build(const NamedTensors& weights, const json& config);
#include "modules/networks/networks.list"
#undef NETWORK

namespace {

struct Entry {
  std::string_view name;
  NetworkBuilder build;
};

constexpr Entry entries[] = {
#define NETWORK(name, build) {name, build},
#include "modules/networks/networks.list"
#undef NETWORK
};

}  // namespace

Program build_network(const std::string& architecture, const NamedTensors& weights,
                      const json& config) {
  std::vector<std::string> names;
  for (const Entry& entry : entries) {
    if (entry.name == architecture) return entry.build(weights, config);
    names.emplace_back(entry.name);
  }
  fail(Code::unsupported, "architecture '", printable(architecture), "' is not one of ",
       one_of(names));
}

}  // namespace hub
