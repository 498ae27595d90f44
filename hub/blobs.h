// The content-addressed store of the cache: one file a digest, complete or absent.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/digest.h"
#include "hub/private_file.h"

namespace hub {

/// What tells cheaply that a file is still the one that was checked.
struct Stamp {
  uint64_t size = 0;
  int64_t mtime_ns = 0;
  uint64_t inode = 0;
  bool operator==(const Stamp&) const = default;
  /// Of a regular file, not through a symbolic link; nothing when there is none.
  static std::optional<Stamp> of(const std::string& path);
  static std::optional<Stamp> of(int fd);
};

class Blobs {
 public:
  /// `patience`: how long another process may stand still while it holds what is needed.
  explicit Blobs(std::string home, std::chrono::milliseconds patience = std::chrono::seconds(60));

  std::string path(const Digest& digest) const;
  /// The digest of what is there now; nothing when it cannot be read.
  std::optional<Digest> rehash(const Digest& digest) const;
  static std::optional<Digest> rehash(int fd);
  /// Bytes of the blob that an interrupted download left.
  uint64_t left_over(const Digest& digest) const;
  /// Makes the blob be there: asks `good` (under the lock of the digest) whether it is, else lets
  /// `fetch` fill a private file, from where an earlier attempt stopped. Returns the stamp of a
  /// file that was fetched. Throws what fetch throws; integrity, storage, busy.
  std::optional<Stamp> add(const Digest& digest, uint64_t size, const std::string& name,
                           const std::function<bool()>& good,
                           const std::function<void(PrivateFile&)>& fetch) const;
  /// Puts bytes at a path below the cache as one durable step.
  void write(const std::string& path, std::string_view bytes, const std::string& name) const;
  /// Success when there is none.
  void remove(const Digest& digest) const;
  /// Removes what dead processes left in tmp; unless `all`, not what a resume can still use.
  void collect(bool all = false) const;
  /// Blobs older than a day: those that no module uses are from an install that never ended.
  std::vector<Digest> old() const;

 private:
  struct Leftover {
    std::string path;
    uint64_t size;
    int64_t mtime;
    PrivateName name;
  };
  std::vector<Leftover> leftovers() const;
  /// Of one digest and of no living process, largest first.
  std::vector<Leftover> abandoned(const Digest& digest) const;
  std::string holder(const Digest& digest, const std::string& name) const;

  std::string home_, tmp_;
  std::chrono::milliseconds patience_;
};

}  // namespace hub
