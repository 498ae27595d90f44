// Installing: what is asked and what it requires, all of it or nothing.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "hub/cache.h"
#include "hub/registries.h"

namespace hub {

class Installer {
 public:
  Installer(Cache& cache, Registries& registries, const Settings& settings, Progress& progress)
      : cache_(cache), registries_(registries), settings_(settings), progress_(progress) {}

  /// Returns the version that is installed now. Downloads only what is missing; nothing is visible
  /// before all of it is here.
  Version install(const Request& request);

 private:
  struct Planned {
    Manifest manifest;
    const Source* source;  ///< null for a module that is here and broken
    std::string registry;
  };

  Version plan(const Wanted& wanted, const std::string& wanted_by);
  void plan_requirements(const Manifest& manifest);
  void require_space();
  void download();
  void fetch(const Planned& module, const FileEntry& file, uint64_t& done, uint64_t total);
  bool commit();

  Cache& cache_;
  Registries& registries_;
  const Settings& settings_;
  Progress& progress_;
  std::set<std::string> seen_;    ///< name@version, planned or found right
  std::vector<Planned> planned_;  ///< what a module requires comes before it
  Stamps checked_;
};

}  // namespace hub
