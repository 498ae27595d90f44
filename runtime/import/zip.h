// The members of a zip archive that are stored as they are, seen in place.
#pragma once

#include <map>
#include <span>
#include <string>

#include "base/file.h"

namespace hub {

/// By name. Throws Code::refused on a malformed archive, and Code::unsupported on members that are
/// packed or encrypted.
std::map<std::string, std::span<const std::byte>, std::less<>> read_stored_zip(
    const MappedFile& file);

}  // namespace hub
