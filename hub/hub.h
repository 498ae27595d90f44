// The hub: finds modules in registries, keeps them in the cache, and hands out their files.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/progress.h"
#include "hub/manifest.h"

namespace hub {

/// Where things are and how to reach registries; the cli fills it from the environment and the
/// config file.
struct Settings {
  std::string home;  ///< folder of the cache; made when it is missing
  std::vector<std::string>
      registries;  ///< "file:/path", a plain path, "http://…", "https://…", tried in order
  bool offline = false;  ///< no socket is opened
  int retries = 4;
  std::string program_version;  ///< of this hub, for `requires`
};

/// A module that is in the cache, ready to be opened.
struct Installed {
  Manifest manifest;
  std::shared_ptr<const Files> files;  ///< its files by their path in the module
  std::string plans;  ///< existing folder for packed plans of this module version, or empty when
                      ///< not writable
  std::string installed_at, last_used;  ///< ISO 8601 UTC
  bool broken = false;                  ///< a file is missing or changed
};

/// One line of a registry's index.
struct Listing {
  ModuleName name;
  Version version;
  std::string task, summary, license, registry;
  uint64_t size = 0;
};

struct VerifyReport {
  std::string module;                 ///< name@version
  std::vector<std::string> problems;  ///< empty: every file has the size and digest of the manifest
};

class Hub {
 public:
  Hub(Settings settings, Progress& progress);
  ~Hub();

  /// Installs what is asked and what it requires; what is there already costs no network. Checks
  /// before any download: `requires`, free space. Returns the installed module.
  Installed install(const Request& request);
  /// Newest installed version that fits, or nothing. Marks it as used.
  std::optional<Installed> find(const Request& request);
  /// find, or install when it is not there.
  Installed need(const Request& request);
  /// Puts a module that was made here into the cache, as install does one that was fetched.
  /// `sources` says where the bytes of a file are that no module in the cache has: a path on this
  /// machine. The same name and version with another content is refused (Code::refused).
  Installed add(const Manifest& manifest, const std::map<RelPath, std::string>& sources);
  /// Throws not_found. Blobs that no other module uses go too. No version: all versions.
  std::vector<std::string> uninstall(const Request& request);
  std::vector<Installed> list();
  /// Every module of every reachable registry whose name, task or summary holds all the words;
  /// newest version each.
  std::vector<Listing> search(const std::vector<std::string>& words);
  /// The manifest that install would take: installed, else from a registry. Throws not_found with
  /// the nearest names.
  Manifest show(const Request& request);
  /// All versions a registry or the cache has, ascending.
  std::vector<Version> versions(const ModuleName& name);
  /// Rehashes every file of the module(s); without a request all of them. A damaged blob is removed
  /// from the cache so that the next install fetches it again.
  std::vector<VerifyReport> verify(const std::optional<Request>& request);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Makes a registry tree (index, content-addressed blobs) from recipes and downloaded packages.
/// Idempotent: the same input gives the same bytes, and blobs that are there already are not
/// written again.
struct RegistryReport {
  std::vector<std::string> modules;  ///< name@version
  uint64_t files = 0, bytes = 0;
};
RegistryReport build_registry(const std::string& recipes, const std::string& packages,
                              const std::string& output, Progress& progress);

}  // namespace hub
