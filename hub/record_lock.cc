#include "hub/record_lock.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <thread>

#include "base/error.h"
#include "base/file.h"

namespace hub {

uint64_t RecordLock::of(const Digest& digest) {
  return std::stoull(digest.hex().substr(0, 15), nullptr, 16);
}

RecordLock::RecordLock(const std::string& file, uint64_t record, std::chrono::milliseconds patience,
                       const std::function<uint64_t()>& alive,
                       const std::function<std::string()>& holder)
    : fd_(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666)) {
  using Clock = std::chrono::steady_clock;
  if (fd_ < 0) fail_errno("cannot open the lock file", file);
  // Of the open file, not of the process: threads exclude one another as well.
  struct flock range {};
  range.l_type = F_WRLCK;
  range.l_whence = SEEK_SET;
  range.l_start = static_cast<off_t>(record);
  range.l_len = 1;
  uint64_t sign = 0;
  auto since = Clock::now();
  for (auto pause = std::chrono::milliseconds(1); ::fcntl(fd_, F_OFD_SETLK, &range) != 0;) {
    if (errno == ENOLCK || errno == EINVAL) return;  // no locks on this file system
    const bool held = errno == EAGAIN || errno == EACCES;
    if (const uint64_t now = alive(); now != sign) {
      sign = now;
      since = Clock::now();
    }
    if (!held || Clock::now() - since > patience) {
      const int reason = errno;
      ::close(fd_);
      errno = reason;
      if (!held) fail_errno("cannot lock", file);
      fail(Code::busy, holder());
    }
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, std::chrono::milliseconds(50));
  }
}

RecordLock::~RecordLock() { ::close(fd_); }

}  // namespace hub
