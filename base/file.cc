#include "base/file.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/error.h"
#include "base/text.h"

namespace hub {
namespace {

namespace fs = std::filesystem;

/// Closes on the way out.
struct Fd {
  int fd = -1;
  explicit Fd(int f) : fd(f) {}
  ~Fd() {
    if (fd >= 0) ::close(fd);
  }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
};

std::string parent_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace

void fail_errno(std::string_view what, std::string_view path) {
  const int e = errno;
  fail(e == ENOENT ? Code::not_found : Code::storage, what, " ", path, ": ", std::strerror(e));
}

RelPath RelPath::parse(std::string_view text) {
  auto refuse = [&](std::string_view why) {
    fail(Code::refused, "'", printable(text.substr(0, 200)),
         "' is not a path inside a module: ", why);
  };
  if (text.empty()) refuse("it is empty");
  if (text.size() > 1024) refuse("it is longer than 1024 bytes");
  if (!valid_utf8(text)) refuse("it is not UTF-8");
  for (unsigned char c : text) {
    if (c < 0x20 || c == 0x7f || c == '\\') refuse("it holds a backslash or a control character");
  }
  if (text.front() == '/') refuse("it is absolute");
  for (std::string_view part : split(text, '/')) {
    if (part.empty() || part == "." || part == "..") refuse("a part of it is empty, '.' or '..'");
    if (part.size() > 255) refuse("a part of it is longer than 255 bytes");
  }
  return RelPath(std::string(text));
}

RelPath RelPath::sibling(std::string_view name) const {
  const size_t slash = path_.rfind('/');
  if (slash == std::string::npos) return parse(name);
  return parse(concat(std::string_view(path_).substr(0, slash + 1), name));
}

MappedFile MappedFile::map(int fd, const std::string& name) {
  struct stat st {};
  if (::fstat(fd, &st) != 0) fail_errno("cannot read", name);
  if (!S_ISREG(st.st_mode)) fail(Code::refused, name, " is not a regular file");
  MappedFile file;
  const auto size = static_cast<size_t>(st.st_size);
  if (size == 0) return file;
  void* p = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (p == MAP_FAILED) fail_errno("cannot map", name);
  file.owner_ = std::shared_ptr<const void>(
      p, [size](const void* q) { ::munmap(const_cast<void*>(q), size); });
  file.bytes_ = {static_cast<const std::byte*>(p), size};
  return file;
}

MappedFile MappedFile::of(std::string bytes) {
  const auto kept = std::make_shared<const std::string>(std::move(bytes));
  MappedFile file;
  file.bytes_ = std::as_bytes(std::span(*kept));
  file.owner_ = kept;
  return file;
}

MappedFile MappedFile::open(const std::string& path) {
  Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (fd.fd < 0) fail_errno("cannot open", path);
  return map(fd.fd, path);
}

MappedFile FolderFiles::open(const RelPath& path) const {
  const std::string full = concat(folder_, "/", path.str());
  Fd dir(::open(folder_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (dir.fd < 0) fail_errno("cannot open folder", folder_);
  open_how how{};
  how.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS;
  Fd fd(static_cast<int>(::syscall(SYS_openat2, dir.fd, path.str().c_str(), &how, sizeof how)));
  if (fd.fd < 0) {
    if (errno == ELOOP || errno == EXDEV)
      fail(Code::refused, full, " is a link or leads out of its folder");
    fail_errno("cannot open", full);
  }
  struct stat st {};
  if (::fstat(fd.fd, &st) != 0) fail_errno("cannot read", full);
  if (S_ISREG(st.st_mode) && st.st_nlink != 1) fail(Code::refused, full, " has other hard links");
  return MappedFile::map(fd.fd, full);
}

bool FolderFiles::has(const RelPath& path) const {
  return exists(concat(folder_, "/", path.str()));
}

std::string read_file(const std::string& path, uint64_t limit) {
  Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (fd.fd < 0) fail_errno("cannot open", path);
  struct stat st {};
  if (::fstat(fd.fd, &st) != 0) fail_errno("cannot read", path);
  if (S_ISDIR(st.st_mode)) fail(Code::usage, path, " is a folder; a file is wanted");
  std::string bytes;
  if (S_ISREG(st.st_mode))
    bytes.reserve(std::min<uint64_t>(static_cast<uint64_t>(st.st_size), limit));
  char buffer[1 << 16];
  for (;;) {
    const ssize_t n = ::read(fd.fd, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail_errno("cannot read", path);
    if (n == 0) return bytes;
    if (bytes.size() + static_cast<size_t>(n) > limit) {
      fail(Code::refused, path, " holds more than the ", limit,
           " bytes that are read of such a file");
    }
    bytes.append(buffer, static_cast<size_t>(n));
  }
}

FileWriter::FileWriter(std::string folder) : folder_(std::move(folder)) {
  temp_ = folder_ + "/.hub.XXXXXX";
  fd_ = ::mkostemp(temp_.data(), O_CLOEXEC);
  if (fd_ < 0) fail_errno("cannot create a file in", folder_);
  const mode_t mask = ::umask(0);
  ::umask(mask);
  ::fchmod(fd_, 0666 & ~mask);
}

FileWriter::~FileWriter() {
  if (fd_ < 0) return;
  ::close(fd_);
  ::unlink(temp_.c_str());
}

void FileWriter::add(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd_, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail_errno("cannot write in", folder_);
    bytes.remove_prefix(static_cast<size_t>(n));
  }
}

void FileWriter::commit(const std::string& name) {
  const std::string path = concat(folder_, "/", name);
  if (::fsync(fd_) != 0) fail_errno("cannot sync", path);
  if (::rename(temp_.c_str(), path.c_str()) != 0) fail_errno("cannot rename a temporary to", path);
  ::close(fd_);
  fd_ = -1;
  sync_folder(folder_);
}

void write_file(const std::string& path, std::string_view bytes) {
  const size_t slash = path.rfind('/');
  FileWriter file(parent_of(path));
  file.add(bytes);
  file.commit(slash == path.npos ? path : path.substr(slash + 1));
}

void make_folders(const std::string& path) {
  std::error_code ec;
  fs::create_directories(path, ec);
  if (ec) fail(Code::storage, "cannot create folder ", path, ": ", ec.message());
}

void sync_folder(const std::string& path) {
  Fd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd.fd < 0) fail_errno("cannot open folder", path);
  if (::fsync(fd.fd) != 0 && errno != EINVAL) fail_errno("cannot sync folder", path);
}

bool exists(const std::string& path) {
  struct stat st {};
  return ::stat(path.c_str(), &st) == 0;
}

bool is_folder(const std::string& path) {
  struct stat st {};
  return ::stat(path.c_str(), &st) == 0 && S_ISDIR(st.st_mode);
}

uint64_t free_bytes(const std::string& path) {
  struct statvfs st {};
  if (::statvfs(path.c_str(), &st) != 0) fail_errno("cannot ask for the free space of", path);
  return static_cast<uint64_t>(st.f_bavail) * st.f_frsize;
}

}  // namespace hub
