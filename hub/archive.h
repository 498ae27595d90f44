// Archives as packages come in: zip (wheels) and tar with gzip, xz or zstd (sdists). Regular files
// and folders only; a whole archive is looked through and judged before the first byte of it is
// used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "base/file.h"

namespace hub {

struct ArchiveLimits {
  size_t members = 10'000;  ///< files and folders
  size_t depth = 32;        ///< parts of a path
  uint64_t member_bytes = uint64_t{2} << 30, total_bytes = uint64_t{4} << 30;  ///< unpacked
};

/// The bytes of one member, once, in order.
class MemberReader {
 public:
  virtual ~MemberReader() = default;
  /// Fills the front of `buffer`; 0 at the end. Throws refused when the archive is damaged or holds
  /// more or fewer bytes than it declared.
  virtual size_t read(std::span<std::byte> buffer) = 0;
};

using MemberVisitor = std::function<void(const RelPath& path, uint64_t size, MemberReader& reader)>;

/// Calls `visit` for each file, in the order of the archive; what a visitor leaves unread is
/// skipped. Before the first call every member was checked: links, devices, encrypted members,
/// absolute or climbing paths, paths that collide, and what exceeds the limits throw Code::refused
/// naming the archive and the member.
void read_archive(const std::string& archive, const ArchiveLimits& limits,
                  const MemberVisitor& visit);

/// Unpacks into `folder`, which must not exist yet: everything or nothing. Files get mode 0644 and
/// no owner, time or attribute of the archive.
void extract_archive(const std::string& archive, const std::string& folder,
                     const ArchiveLimits& limits);

}  // namespace hub
