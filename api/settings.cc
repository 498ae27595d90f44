#include "api/settings.h"

#include <cstdlib>

#include "base/error.h"
#include "base/text.h"

namespace hub {
namespace {

std::string variable(const char* name) {
  const char* v = std::getenv(name);
  return v == nullptr ? "" : v;
}

}  // namespace

std::string home_folder() {
  if (const auto home = variable("HUB_HOME"); !home.empty()) return home;
  if (const auto data = variable("XDG_DATA_HOME"); !data.empty()) return data + "/hub";
  const auto home = variable("HOME");
  if (home.empty()) fail(Code::usage, "neither HUB_HOME nor HOME is set; set HUB_HOME to a folder");
  return home + "/.local/share/hub";
}

json read_config() {
  const std::string path = home_folder() + "/config.json";
  if (!exists(path)) return json::object();
  json config = within(path, [&] { return parse_json(read_file(path, 1 << 16)); });
  if (!config.is_object()) fail(Code::refused, path, " is not a JSON object; remove it or mend it");
  for (const auto& [key, value] : config.items()) {
    if (key == "registries" && value.is_array()) {
      for (const auto& r : value) {
        if (!r.is_string())
          fail(Code::refused, path, ": 'registries' holds something that is not text");
      }
      continue;
    }
    if (key == "offline" && value.is_boolean()) continue;
    fail(Code::refused, path, ": unknown key or wrong kind of value at '", key, "'");
  }
  return config;
}

Settings environment_settings() {
  const json config = read_config();
  Settings s;
  s.home = home_folder();
  s.program_version = HUB_VERSION;
  if (const auto env = variable("HUB_REGISTRY"); !env.empty()) {
    for (std::string_view part : split(env, ' ')) {
      if (!part.empty()) s.registries.emplace_back(part);
    }
  } else if (config.contains("registries")) {
    s.registries = config["registries"].get<std::vector<std::string>>();
  }
  s.offline = config.value("offline", false);
  if (const auto env = variable("HUB_OFFLINE"); !env.empty()) s.offline = env != "0";
  return s;
}

}  // namespace hub
