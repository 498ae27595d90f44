#include "hub/blobs.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "hub/index.h"
#include "hub/record_lock.h"

namespace hub {
namespace {

namespace fs = std::filesystem;
constexpr int64_t day = 24 * 3600, second = 1'000'000'000;

/// Of an absolute path.
std::string parent(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == 0 ? "/" : path.substr(0, slash);
}

/// Like make_folders, and a new folder survives a power cut.
void make_durable_folder(const std::string& path) {
  if (is_folder(path)) return;
  make_durable_folder(parent(path));
  make_folders(path);
  sync_folder(parent(path));
}

std::optional<Stamp> stamp_of(const struct stat& st) {
  if (!S_ISREG(st.st_mode)) return std::nullopt;
  return Stamp{static_cast<uint64_t>(st.st_size), st.st_mtim.tv_sec * second + st.st_mtim.tv_nsec,
               static_cast<uint64_t>(st.st_ino)};
}

}  // namespace

std::optional<Stamp> Stamp::of(const std::string& path) {
  struct stat st {};
  return ::lstat(path.c_str(), &st) == 0 ? stamp_of(st) : std::nullopt;
}

std::optional<Stamp> Stamp::of(int fd) {
  struct stat st {};
  return ::fstat(fd, &st) == 0 ? stamp_of(st) : std::nullopt;
}

Blobs::Blobs(std::string home, std::chrono::milliseconds patience)
    : home_(std::move(home)), tmp_(home_ + "/tmp"), patience_(patience) {}

std::string Blobs::path(const Digest& digest) const {
  return concat(home_, "/", blob_path(digest));
}

std::optional<Digest> Blobs::rehash(const Digest& digest) const {
  const int fd = ::open(path(digest).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return std::nullopt;
  auto found = rehash(fd);
  ::close(fd);
  return found;
}

std::optional<Digest> Blobs::rehash(int fd) {
  // Read, not mapped: a file that shrinks meanwhile must not end the process.
  Sha256 sha;
  std::vector<char> buffer(size_t{1} << 20);
  ssize_t n = 0;
  for (off_t at = 0;
       (n = ::pread(fd, buffer.data(), buffer.size(), at)) > 0 || (n < 0 && errno == EINTR);) {
    if (n < 0) continue;
    sha.add({buffer.data(), static_cast<size_t>(n)});
    at += n;
  }
  if (n < 0) return std::nullopt;
  return sha.finish();
}

std::vector<Blobs::Leftover> Blobs::leftovers() const {
  std::vector<Leftover> found;
  std::error_code ec;
  for (const auto& entry : fs::directory_iterator(tmp_, ec)) {
    const auto name = PrivateName::parse(entry.path().filename().string());
    const auto stamp = Stamp::of(entry.path().string());
    if (name && stamp)
      found.push_back({entry.path().string(), stamp->size, stamp->mtime_ns / second, *name});
  }
  return found;
}

std::vector<Blobs::Leftover> Blobs::abandoned(const Digest& digest) const {
  auto found = leftovers();
  std::erase_if(found,
                [&](const Leftover& l) { return l.name.digest != digest || !l.name.abandoned(); });
  std::sort(found.begin(), found.end(),
            [](const auto& a, const auto& b) { return a.size > b.size; });
  return found;
}

uint64_t Blobs::left_over(const Digest& digest) const {
  uint64_t most = 0;
  for (const auto& l : leftovers()) {
    if (l.name.digest == digest) most = std::max(most, l.size);
  }
  return most;
}

std::string Blobs::holder(const Digest& digest, const std::string& name) const {
  std::string who = "another process";
  for (const auto& l : leftovers()) {
    if (l.name.digest == digest && !l.name.abandoned()) who = concat("process ", l.name.pid);
  }
  return concat(who, " is downloading ", name, " into ", home_, " and has not got on for ",
                patience_.count() / 1000, " s; end it, or wait, and run the same command again");
}

std::optional<Stamp> Blobs::add(const Digest& digest, uint64_t size, const std::string& name,
                                const std::function<bool()>& good,
                                const std::function<void(PrivateFile&)>& fetch) const {
  make_durable_folder(tmp_);
  const RecordLock lock(
      tmp_ + "/lock", RecordLock::of(digest), patience_, [&] { return left_over(digest); },
      [&] { return holder(digest, name); });
  if (good()) return std::nullopt;
  PrivateFile file(tmp_, digest, size, name);
  const auto old = abandoned(digest);
  for (const auto& l : old) {
    if (file.done() == 0) file.adopt(l.path);
  }
  for (const auto& l : old) ::unlink(l.path.c_str());
  try {
    if (file.done() < size) fetch(file);
    if (!file.matches() && file.patched()) {
      file.restart();
      fetch(file);
    }
  } catch (const Error& e) {
    if (e.code() == Code::network && file.done() > 0) file.keep();
    throw;
  }
  make_durable_folder(parent(path(digest)));
  file.publish(path(digest));
  return Stamp::of(file.descriptor());
}

void Blobs::write(const std::string& path, std::string_view bytes, const std::string& name) const {
  make_durable_folder(tmp_);
  make_durable_folder(parent(path));
  PrivateFile file(tmp_, Sha256::of(bytes), bytes.size(), name);
  file.add(bytes);
  file.publish(path);
  for (const auto& l : abandoned(file.digest())) ::unlink(l.path.c_str());
}

void Blobs::remove(const Digest& digest) const {
  if (::unlink(path(digest).c_str()) == 0) {
    sync_folder(parent(path(digest)));
  } else if (errno != ENOENT && errno != ENOTDIR) {
    fail_errno("cannot remove", path(digest));
  }
}

void Blobs::collect(bool all) const {
  const int64_t now = std::time(nullptr);
  for (const auto& l : leftovers()) {
    const bool useless = all || l.size == 0 || exists(path(l.name.digest)) || now - l.mtime > day;
    if (useless && (l.name.abandoned() || now - l.mtime > 2 * day)) ::unlink(l.path.c_str());
  }
}

std::vector<Digest> Blobs::old() const {
  std::vector<Digest> found;
  std::error_code ec;
  for (const auto& folder : fs::directory_iterator(home_ + "/blobs/sha256", ec)) {
    for (const auto& entry : fs::directory_iterator(folder.path(), ec)) {
      const std::string name = entry.path().filename().string();
      if (name.size() != 64) continue;
      const auto stamp = Stamp::of(entry.path().string());
      if (stamp && std::time(nullptr) - stamp->mtime_ns / second > day)
        found.push_back(Digest::parse(name));
    }
  }
  return found;
}

}  // namespace hub
