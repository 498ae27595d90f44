// A recipe: from which packages, or from beside itself, the files of a module are taken.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/digest.h"
#include "base/file.h"

namespace hub {

/// A package as a package index serves it.
struct RecipePackage {
  std::string name, version;  ///< as pip knows them
  RelPath file;               ///< its name in the folder of downloaded packages
  Digest sha256;
  uint64_t size = 0;

  /// What a person types to get it.
  std::string command() const;
};

struct RecipeFile {
  std::string package;  ///< name of the package; empty: `source` lies beside the recipe
  RelPath source;       ///< the member of the package, or the file beside the recipe
};

struct Recipe {
  std::vector<RecipePackage> packages;
  std::map<RelPath, RecipeFile> files;  ///< by the path in the module

  /// Strict: unknown keys, unknown and unused packages and paths listed twice are refused by name.
  static Recipe parse(std::string_view text);
};

}  // namespace hub
