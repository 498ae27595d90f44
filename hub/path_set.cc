#include "hub/path_set.h"

#include <utf8proc.h>

#include <cstdlib>
#include <memory>

#include "base/error.h"

namespace hub {
namespace {

/// Equal for paths that differ only in case or in how their characters are composed.
std::string fold(const std::string& path) {
  utf8proc_uint8_t* raw = nullptr;
  const auto options =
      static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_CASEFOLD);
  const auto size = utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(path.data()),
                                 static_cast<utf8proc_ssize_t>(path.size()), &raw, options);
  const std::unique_ptr<utf8proc_uint8_t, void (*)(void*)> owner(raw, std::free);
  if (size < 0) fail(Code::refused, "'", path, "': ", utf8proc_errmsg(size));
  return {reinterpret_cast<const char*>(raw), static_cast<size_t>(size)};
}

}  // namespace

void PathSet::add(const RelPath& path) {
  const std::string folded = fold(path.str());
  const auto [twin, fresh] = files_.emplace(folded, path.str());
  if (!fresh && twin->second == path.str()) {
    fail(Code::refused, "'", path.str(), "' is listed twice");
  }
  if (!fresh) {
    fail(Code::refused, "'", path.str(), "' and '", twin->second,
         "' are the same file where case or Unicode form does not count");
  }
  const auto below = folders_.find(folded);
  if (below != folders_.end()) {
    fail(Code::refused, "'", path.str(), "' is both a file and a folder of '", below->second, "'");
  }
  for (size_t at = folded.find('/'); at != folded.npos; at = folded.find('/', at + 1)) {
    const std::string folder = folded.substr(0, at);
    const auto file = files_.find(folder);
    if (file != files_.end()) {
      fail(Code::refused, "'", file->second, "' is both a file and a folder of '", path.str(), "'");
    }
    folders_.emplace(folder, path.str());
  }
}

}  // namespace hub
