// Metrics as JSON.
#include <nlohmann/json.hpp>

#include "finetune/metrics/metrics.h"

namespace hub {

json to_json(const Metrics& metrics) {
  json object = {{"values", json::object()}};
  for (const auto& [name, value] : metrics.values) object["values"][name] = value;
  for (const ClassRow& c : metrics.classes) {
    object["classes"].push_back({{"name", c.name},
                                 {"precision", c.precision},
                                 {"recall", c.recall},
                                 {"f1", c.f1},
                                 {"support", c.support},
                                 {"predicted", c.predicted}});
  }
  if (!metrics.confusion.empty()) object["confusion"] = metrics.confusion;
  if (!metrics.warnings.empty()) object["warnings"] = metrics.warnings;
  return object;
}

}  // namespace hub
