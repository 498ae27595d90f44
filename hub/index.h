// The index of a registry: one document, index/modules.json, that lists every version of every
// module.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/digest.h"
#include "hub/name.h"

namespace hub {

struct IndexEntry {
  ModuleName name;
  Version version;
  Digest manifest;             ///< of the manifest's bytes, which are a blob like any file
  uint64_t manifest_size = 0;  ///< bytes, at most 1 MiB
  uint64_t total_size = 0;     ///< of the module's files together
  std::string task, summary, license;
};

/// Where things lie in a registry, relative to its root.
inline constexpr std::string_view index_path = "index/modules.json";
/// "blobs/sha256/<first two digits>/<all 64>"
std::string blob_path(const Digest& digest);

/// Bounded in bytes (64 MiB) and strict: unknown keys, wrong types and a version listed twice are
/// refused by name. Sorted by name, then version.
std::vector<IndexEntry> parse_index(std::string_view text);
/// The same entries give the same bytes, whatever their order.
std::string write_index(std::vector<IndexEntry> entries);

}  // namespace hub
