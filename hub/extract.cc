// Unpacking a whole archive: everything or nothing.
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <vector>

#include "base/error.h"
#include "hub/archive.h"

namespace hub {
namespace {

namespace fs = std::filesystem;

/// A private folder beside `target`, removed with what is in it unless it was moved there.
class PrivateFolder {
 public:
  explicit PrivateFolder(const std::string& target) : path_(target + ".XXXXXX") {
    if (::mkdtemp(path_.data()) == nullptr) fail_errno("cannot create a folder beside", target);
  }
  ~PrivateFolder() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  PrivateFolder(const PrivateFolder&) = delete;
  PrivateFolder& operator=(const PrivateFolder&) = delete;

  const std::string& path() const { return path_; }

  void move_to(const std::string& target) {
    if (::chmod(path_.c_str(), 0755) != 0) fail_errno("cannot set the mode of", path_);
    if (::renameat2(AT_FDCWD, path_.c_str(), AT_FDCWD, target.c_str(), RENAME_NOREPLACE) != 0) {
      fail_errno("cannot rename a temporary folder to", target);
    }
    path_.clear();
  }

 private:
  std::string path_;
};

void unpack(const RelPath& path, MemberReader& reader, const std::string& folder,
            std::vector<std::byte>& buffer) {
  const std::string full = concat(folder, "/", path.str());
  make_folders(full.substr(0, full.rfind('/')));
  struct Closing {
    int fd;
    ~Closing() { ::close(fd); }
  } file{::open(full.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644)};
  if (file.fd < 0) fail_errno("cannot create", full);
  while (const size_t size = reader.read(buffer)) {
    for (size_t done = 0; done < size;) {
      const ssize_t n = ::write(file.fd, buffer.data() + done, size - done);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) fail_errno("cannot write", full);
      done += static_cast<size_t>(n);
    }
  }
  if (::fsync(file.fd) != 0) fail_errno("cannot sync", full);
}

}  // namespace

void extract_archive(const std::string& archive, const std::string& folder,
                     const ArchiveLimits& limits) {
  std::string target = folder;
  while (target.size() > 1 && target.ends_with('/')) target.pop_back();
  if (exists(target)) fail(Code::usage, target, " is there already; a new folder is wanted");
  const size_t slash = target.rfind('/');
  const std::string parent = slash == target.npos ? "." : target.substr(0, slash + 1);
  std::optional<PrivateFolder> temporary;
  std::vector<std::byte> buffer(1 << 16);
  read_archive(archive, limits, [&](const RelPath& path, uint64_t, MemberReader& reader) {
    if (!temporary) {
      make_folders(parent);
      temporary.emplace(target);
    }
    unpack(path, reader, temporary->path(), buffer);
  });
  temporary->move_to(target);
  sync_folder(parent);
}

}  // namespace hub
