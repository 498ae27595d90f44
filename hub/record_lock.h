// Locks between processes on ranges of one small file, so that a lock leaves nothing behind and
// dies with its holder. They only save work: the cache stays right where they are a lie (some
// network file systems).
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "base/digest.h"

namespace hub {

class RecordLock {
 public:
  /// Locks one record of the file (made when it is missing). While somebody else holds it, `alive`
  /// is asked for any number that changes when the holder gets on; when it stands still for
  /// `patience`, throws Code::busy with the words of `holder`.
  RecordLock(const std::string& file, uint64_t record, std::chrono::milliseconds patience,
             const std::function<uint64_t()>& alive, const std::function<std::string()>& holder);
  ~RecordLock();
  RecordLock(const RecordLock&) = delete;
  RecordLock& operator=(const RecordLock&) = delete;

  /// The record that belongs to a digest.
  static uint64_t of(const Digest& digest);
  /// The record of the database; no digest has it.
  static constexpr uint64_t database = uint64_t{1} << 61;

 private:
  int fd_ = -1;
};

}  // namespace hub
