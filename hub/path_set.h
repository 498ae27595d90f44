// The paths of one module or archive together: no two may be the same file on any file system.
#pragma once

#include <map>
#include <set>
#include <string>

#include "base/file.h"

namespace hub {

class PathSet {
 public:
  /// Throws Code::refused naming both paths: listed twice, equal but for case or Unicode form, or a
  /// file that is a folder of another path.
  void add(const RelPath& path);

 private:
  std::map<std::string, std::string> files_;    ///< folded path -> path
  std::map<std::string, std::string> folders_;  ///< folded folder -> the first path below it
};

}  // namespace hub
