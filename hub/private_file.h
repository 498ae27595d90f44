// A file that only one object ever writes: born under a new name in the cache's tmp folder, hashed
// while it grows, moved to its place in one step. No lock is needed for it to be right.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/digest.h"

namespace hub {

class PrivateFile {
 public:
  /// For content of exactly this digest and size; `name` says what it is in messages. Throws
  /// storage.
  PrivateFile(std::string folder, Digest digest, uint64_t size, std::string name);
  /// Removes the file unless it was published or kept.
  ~PrivateFile();
  PrivateFile(const PrivateFile&) = delete;
  PrivateFile& operator=(const PrivateFile&) = delete;

  const Digest& digest() const { return digest_; }
  uint64_t size() const { return size_; }
  uint64_t done() const { return done_; }
  /// Called with done() whenever bytes arrive.
  void watch(std::function<void(uint64_t)> watcher) { watcher_ = std::move(watcher); }
  /// Appends. Throws integrity when it grows beyond the size, storage with needed and free bytes
  /// when the disk is full.
  void add(std::string_view bytes);
  /// Back to nothing.
  void restart();
  /// Copies what an interrupted attempt left; false when it cannot be read.
  bool adopt(const std::string& leftover);
  /// The bytes come from more than one answer, so a wrong digest may be cured by starting again.
  bool patched() const { return patched_; }
  void mark_patched() { patched_ = true; }
  bool matches();
  /// Leaves the bytes in the folder for a later attempt.
  void keep();
  /// Throws integrity with both digests when the content is wrong; else fsync, rename, fsync of the
  /// folder.
  void publish(const std::string& path);
  int descriptor() const { return fd_; }

 private:
  [[noreturn]] void fail_write(std::string_view what) const;

  std::string folder_;
  Digest digest_;
  uint64_t size_, done_ = 0;
  std::string name_, path_;
  int fd_ = -1;
  bool patched_ = false;
  Sha256 sha_;
  std::optional<Digest> found_;
  std::function<void(uint64_t)> watcher_;
};

/// What the name of a private file says: "<64 hex digits>.<pid>.<random>".
struct PrivateName {
  Digest digest;
  int64_t pid;  ///< of the process that writes it; 0 when it was kept
  static std::optional<PrivateName> parse(std::string_view file_name);
  /// Nobody writes it any more, as far as this machine can tell.
  bool abandoned() const;
};

}  // namespace hub
