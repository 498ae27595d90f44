#include "hub/private_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"

namespace hub {
namespace {

std::string name_template(const std::string& folder, const Digest& digest, int64_t pid) {
  return concat(folder, "/", digest.hex(), ".", pid, ".XXXXXX");
}

}  // namespace

PrivateFile::PrivateFile(std::string folder, Digest digest, uint64_t size, std::string name)
    : folder_(std::move(folder)), digest_(std::move(digest)), size_(size), name_(std::move(name)) {
  path_ = name_template(folder_, digest_, ::getpid());
  fd_ = ::mkostemp(path_.data(), O_CLOEXEC);
  if (fd_ < 0) fail_errno("cannot create a file in", folder_);
}

PrivateFile::~PrivateFile() {
  if (fd_ >= 0) ::close(fd_);
  if (!path_.empty()) ::unlink(path_.c_str());
}

void PrivateFile::fail_write(std::string_view what) const {
  if (errno != ENOSPC && errno != EDQUOT && errno != EFBIG) fail_errno(what, path_);
  const int reason = errno;
  fail(Code::storage, "no room for ", name_, " (", std::strerror(reason), "): ", size_ - done_,
       " bytes are needed, ", free_bytes(folder_), " bytes are free in ", folder_,
       "; free some space and run the same command again");
}

void PrivateFile::add(std::string_view bytes) {
  if (bytes.size() > size_ - done_) {
    fail(Code::integrity, name_, ": more than the ", size_,
         " bytes that were promised arrived; the registry is damaged");
  }
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd_, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail_write("cannot write");
    sha_.add(bytes.substr(0, static_cast<size_t>(n)));
    done_ += static_cast<uint64_t>(n);
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  if (watcher_) watcher_(done_);
}

void PrivateFile::restart() {
  if (::ftruncate(fd_, 0) != 0 || ::lseek(fd_, 0, SEEK_SET) != 0) fail_errno("cannot empty", path_);
  done_ = 0;
  patched_ = false;
  sha_ = Sha256();
  found_.reset();
}

bool PrivateFile::adopt(const std::string& leftover) {
  struct Closing {
    int fd;
    ~Closing() { ::close(fd); }
  } from{::open(leftover.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)};
  struct stat st {};
  if (from.fd < 0 || ::fstat(from.fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_nlink != 1)
    return false;
  std::vector<char> buffer(size_t{1} << 20);
  while (done_ < size_) {
    const ssize_t n =
        ::read(from.fd, buffer.data(), std::min<uint64_t>(buffer.size(), size_ - done_));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    add({buffer.data(), static_cast<size_t>(n)});
  }
  patched_ = done_ > 0;
  return true;
}

bool PrivateFile::matches() {
  if (done_ != size_) return false;
  if (!found_) found_ = sha_.finish();
  return *found_ == digest_;
}

void PrivateFile::keep() {
  // mkostemp makes the new name, so that nobody else's file is replaced.
  std::string kept = name_template(folder_, digest_, 0);
  const int fd = ::mkostemp(kept.data(), O_CLOEXEC);
  if (fd < 0) return;
  ::close(fd);
  if (::rename(path_.c_str(), kept.c_str()) == 0) path_.clear();
}

void PrivateFile::publish(const std::string& path) {
  if (done_ != size_) {
    fail(Code::integrity, name_, " has ", done_, " bytes; ", size_,
         " were promised: the registry is damaged");
  }
  if (!matches()) {
    fail(Code::integrity, name_, " is not what was promised: sha256 ", found_->hex(), " arrived, ",
         digest_.hex(),
         " is wanted; nothing was installed. The registry is damaged or something on the way "
         "changes the bytes");
  }
  if (::fchmod(fd_, 0644) != 0) fail_errno("cannot set the mode of", path_);
  if (::fsync(fd_) != 0) fail_write("cannot sync");
  if (::rename(path_.c_str(), path.c_str()) != 0)
    fail_errno(concat("cannot move ", name_, " to"), path);
  path_.clear();
  sync_folder(path.substr(0, path.rfind('/')));
}

std::optional<PrivateName> PrivateName::parse(std::string_view file_name) {
  const auto parts = split(file_name, '.');
  if (parts.size() != 3 || parts[0].size() != 64 || parts[2].size() != 6) return std::nullopt;
  if (parts[0].find_first_not_of("0123456789abcdef") != parts[0].npos) return std::nullopt;
  int64_t pid = -1;
  const auto [end, error] =
      std::from_chars(parts[1].data(), parts[1].data() + parts[1].size(), pid);
  if (error != std::errc() || end != parts[1].data() + parts[1].size() || pid < 0)
    return std::nullopt;
  return PrivateName{Digest::parse(parts[0]), pid};
}

bool PrivateName::abandoned() const {
  return pid == 0 || (::kill(static_cast<pid_t>(pid), 0) != 0 && errno == ESRCH);
}

}  // namespace hub
