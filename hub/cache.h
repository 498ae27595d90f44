// The cache: blobs and catalog together, and the files of an installed module as the other rooms
// see them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hub/blobs.h"
#include "hub/catalog.h"
#include "hub/hub.h"
#include "hub/registries.h"

namespace hub {

class Cache : public std::enable_shared_from_this<Cache> {
 public:
  Cache(const std::string& home, Progress& progress);

  const std::string& home() const { return home_; }
  Catalog& catalog() { return catalog_; }
  const Blobs& blobs() const { return blobs_; }

  /// The newest installed version that fits.
  std::optional<Version> newest(const Wanted& wanted);
  /// `broken` says only what costs no reading: a file is missing or has another size; `thorough`,
  /// also that one that was touched since it was checked has other bytes. Nothing when it is not
  /// installed.
  std::optional<Installed> open(const ModuleName& name, const Version& version,
                                bool thorough = false);
  /// Whether the blob of the file is there and right: by its stamp when it is as recorded, else by
  /// its digest. What was checked goes into `checked`.
  bool good(const FileEntry& file, Stamps& checked);
  /// Removes the module, its packed plans, and the blobs that no other module uses.
  void remove(const ModuleName& name, const Version& version);

 private:
  std::string home_;
  Blobs blobs_;
  Catalog catalog_;
};

}  // namespace hub
