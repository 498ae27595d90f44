// The modules of the default registry, which scripts/test builds before the tests; kept in a cache
// in the build folder.
#pragma once

#include <cstdlib>
#include <memory>
#include <string>

#include "base/digest.h"
#include "base/file.h"
#include "modules/module.h"

inline hub::Installed installed(const std::string& name) {
  const char* given = std::getenv("HUB_TEST_REGISTRY");
  const std::string registry = given != nullptr ? given : HUB_BINARY_DIR "/registry";
  // Another registry, another cache: what an earlier build left must not answer for this one.
  const std::string index = hub::read_file(registry + "/index/modules.json");
  const std::string home =
      HUB_BINARY_DIR "/test-home/" + hub::Sha256::of(index).hex().substr(0, 16);
  hub::Settings settings;
  settings.home = home;
  settings.registries = {registry};
  settings.program_version = "0.1.0";
  hub::Silent silent;
  return hub::Hub(settings, silent).need(hub::Request::parse(name));
}

inline std::unique_ptr<hub::Module> default_module(const std::string& name,
                                                   hub::Progress& progress) {
  return hub::Module::open(installed(name), progress);
}
