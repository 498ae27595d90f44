// Files: whole reads with a bound, atomic writes, read-only mappings, and names that cannot leave
// their folder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hub {

/// A relative path that stays below where it starts: parts of printable UTF-8 joined by '/', none
/// of them empty, "." or
/// "..", no backslash, no control character, no leading '/', at most 1024 bytes.
class RelPath {
 public:
  /// Throws Code::refused naming the path and the rule it broke.
  static RelPath parse(std::string_view text);
  const std::string& str() const { return path_; }
  /// The path of a file named `name` in the same folder as this one.
  RelPath sibling(std::string_view name) const;
  auto operator<=>(const RelPath&) const = default;

 private:
  explicit RelPath(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

/// A file mapped read-only; cheap to copy, the mapping lives as long as the last copy.
class MappedFile {
 public:
  MappedFile() = default;
  /// Throws not_found, storage.
  static MappedFile open(const std::string& path);
  /// These bytes, which are no file; for what is made rather than read.
  static MappedFile of(std::string bytes);
  /// Maps an open descriptor, which may be closed afterwards. `name` is for messages.
  static MappedFile map(int fd, const std::string& name);
  std::span<const std::byte> bytes() const { return bytes_; }
  std::string_view text() const {
    return {reinterpret_cast<const char*>(bytes_.data()), bytes_.size()};
  }
  size_t size() const { return bytes_.size(); }
  /// Keeps the mapping alive; for tensors that view it.
  const std::shared_ptr<const void>& owner() const { return owner_; }

 private:
  std::shared_ptr<const void> owner_;
  std::span<const std::byte> bytes_;
};

/// Where the files of one module or one network are found. Nothing outside is ever opened.
class Files {
 public:
  virtual ~Files() = default;
  /// Throws not_found naming the path.
  virtual MappedFile open(const RelPath& path) const = 0;
  virtual bool has(const RelPath& path) const = 0;
};

/// The files below a folder; symbolic links, devices and hard-linked files are refused.
class FolderFiles final : public Files {
 public:
  explicit FolderFiles(std::string folder) : folder_(std::move(folder)) {}
  MappedFile open(const RelPath& path) const override;
  bool has(const RelPath& path) const override;

 private:
  std::string folder_;
};

/// The whole file; refused when it holds more than `limit` bytes. "-" is not special.
std::string read_file(const std::string& path, uint64_t limit = uint64_t{1} << 30);

/// A file that appears in one step: bytes go to a private temporary in its folder; commit does
/// fsync, rename, fsync of the folder. Without commit nothing is left. Throws storage.
class FileWriter {
 public:
  explicit FileWriter(std::string folder);
  ~FileWriter();
  FileWriter(const FileWriter&) = delete;
  FileWriter& operator=(const FileWriter&) = delete;
  void add(std::string_view bytes);
  /// `name` within the folder; a file of that name is replaced.
  void commit(const std::string& name);

 private:
  std::string folder_, temp_;
  int fd_ = -1;
};

/// Replaces `path` as one step, as FileWriter does.
void write_file(const std::string& path, std::string_view bytes);

/// Creates the folder and its parents (mode 0777 less umask); success when it is there already.
void make_folders(const std::string& path);

/// fsync of a folder, so that renames in it survive a power cut.
void sync_folder(const std::string& path);

bool exists(const std::string& path);
bool is_folder(const std::string& path);
/// Bytes that an unprivileged user may still write on the file system of `path`.
uint64_t free_bytes(const std::string& path);

/// Throws Code::storage: "<what> <path>: <reason of errno>".
[[noreturn]] void fail_errno(std::string_view what, std::string_view path);

}  // namespace hub
