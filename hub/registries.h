// What the registries offer, in their order: the first that has a module gives it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "hub/index.h"
#include "hub/manifest.h"
#include "hub/source.h"

namespace hub {

struct Settings;

/// What is looked for: a name and at most one of a version and a range.
struct Wanted {
  ModuleName name;
  std::optional<Version> version;
  const VersionRange* range = nullptr;
  /// Without a version no pre-release fits.
  bool fits(const Version& candidate) const;
  std::string str() const;
};

struct Offer {
  IndexEntry entry;
  Source* source;
};

class Registries {
 public:
  Registries(const Settings& settings, Progress& progress);

  /// The newest that fits, of the first registry that has one. Indexes are read once, when they are
  /// needed.
  std::optional<Offer> find(const Wanted& wanted);
  /// Says why there is nothing: an unreachable registry, an unknown name with the nearest ones, the
  /// versions there are.
  [[noreturn]] void fail_missing(const Wanted& wanted);
  /// Everything of every reachable registry; a registry that cannot be read is noted, and thrown
  /// when none can.
  std::vector<Offer> all();
  /// Reads and checks the manifest of an offer.
  Manifest manifest(const Offer& offer);
  /// Fills the file from the first registry that has the blob, `first` before the others.
  void fetch(PrivateFile& file, const Source* first);

 private:
  struct Registry {
    std::unique_ptr<Source> source;
    bool read = false;
    std::vector<IndexEntry> index;
    std::optional<Error> trouble;
  };
  const std::vector<IndexEntry>& index(Registry& registry);
  void require_any() const;

  std::vector<Registry> registries_;
  Progress& progress_;
};

}  // namespace hub
