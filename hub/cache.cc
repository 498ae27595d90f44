#include "hub/cache.h"

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>

#include "base/error.h"
#include "base/file.h"

namespace hub {
namespace {

namespace fs = std::filesystem;

/// By the calendar of <chrono>: gmtime reads the zone file first.
std::string iso_time(int64_t seconds) {
  using namespace std::chrono;
  const sys_seconds time{std::chrono::seconds(seconds)};
  const year_month_day date{floor<days>(time)};
  const hh_mm_ss clock{time - floor<days>(time)};
  char text[32];
  std::snprintf(text, sizeof text, "%04d-%02u-%02uT%02d:%02d:%02dZ", static_cast<int>(date.year()),
                static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                static_cast<int>(clock.hours().count()), static_cast<int>(clock.minutes().count()),
                static_cast<int>(clock.seconds().count()));
  return text;
}

/// The files of one module, each checked when it is opened.
class ModuleFiles final : public Files {
 public:
  ModuleFiles(std::shared_ptr<Cache> cache, const Manifest& manifest, const Stamps& stamps)
      : cache_(std::move(cache)),
        module_(manifest.id()),
        name_(manifest.name.str()),
        stamps_(stamps) {
    for (const FileEntry& file : manifest.files) files_.emplace(file.path, file);
  }

  bool has(const RelPath& path) const override { return files_.contains(path); }

  MappedFile open(const RelPath& path) const override {
    const auto found = files_.find(path);
    if (found == files_.end()) fail(Code::not_found, module_, " has no file '", path.str(), "'");
    const FileEntry& file = found->second;
    const std::string blob = cache_->blobs().path(file.sha256);
    const int fd = ::open(blob.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0 && errno == EACCES) fail_errno("cannot open", blob);
    const bool right = fd >= 0 && check(file, fd);
    struct Closing {
      int fd;
      ~Closing() {
        if (fd >= 0) ::close(fd);
      }
    } closing{fd};
    if (!right) {
      fail(Code::integrity, "file '", path.str(), "' of ", module_,
           fd < 0 ? " is missing from" : " was changed in", " the cache (", blob,
           "); 'hub install ", module_, "' repairs it");
    }
    return MappedFile::map(fd, blob);
  }

 private:
  /// By the stamp of the open file when it is as recorded, else by its digest.
  bool check(const FileEntry& file, int fd) const {
    const auto now = Stamp::of(fd);
    if (!now || now->size != file.size) return false;
    const std::lock_guard lock(mutex_);
    Stamp& recorded = stamps_[file.sha256];
    if (recorded == *now) return true;
    if (Blobs::rehash(fd) != file.sha256) return false;
    recorded = *now;
    cache_->catalog().set_stamp(file.sha256, *now);
    return true;
  }

  std::shared_ptr<Cache> cache_;
  std::string module_, name_;
  std::map<RelPath, FileEntry> files_;
  mutable std::mutex mutex_;
  mutable Stamps stamps_;
};

std::string plans_folder(const std::string& home, const Manifest& manifest, const CatalogRow& row) {
  return concat(home, "/plans/", manifest.id(), "-", row.digest.substr(0, 12));
}

std::string absolute_folder(const std::string& path) {
  std::string full = fs::absolute(path).lexically_normal().string();
  while (full.size() > 1 && full.back() == '/') full.pop_back();
  return full;
}

}  // namespace

Cache::Cache(const std::string& home, Progress& progress)
    : home_(absolute_folder(home)), blobs_(home_), catalog_(home_, progress) {}

std::optional<Version> Cache::newest(const Wanted& wanted) {
  std::optional<Version> best;
  for (const auto& [name, version] : catalog_.modules(&wanted.name)) {
    if (wanted.fits(version) && (!best || *best < version)) best = version;
  }
  return best;
}

std::optional<Installed> Cache::open(const ModuleName& name, const Version& version,
                                     bool thorough) {
  auto row = catalog_.row(name, version);
  if (!row) return std::nullopt;
  Installed installed{.manifest = Manifest::parse(row->manifest),
                      .files = nullptr,
                      .plans = {},
                      .installed_at = iso_time(row->installed_at),
                      .last_used = iso_time(row->last_used)};
  const Manifest& manifest = installed.manifest;
  Stamps checked;
  for (const FileEntry& file : manifest.files) {
    const auto now = Stamp::of(blobs_.path(file.sha256));
    const Stamp& recorded = row->stamps[file.sha256];
    const bool touched = recorded != Stamp{} && now != recorded;
    if (!now || now->size != file.size || (thorough && touched && !good(file, checked))) {
      installed.broken = true;
    }
  }
  installed.files = std::make_shared<ModuleFiles>(shared_from_this(), manifest, row->stamps);
  if (catalog_.writable()) {
    installed.plans = plans_folder(home_, manifest, *row);
    if (!is_folder(installed.plans)) make_folders(installed.plans);
  }
  return installed;
}

bool Cache::good(const FileEntry& file, Stamps& checked) {
  const auto now = Stamp::of(blobs_.path(file.sha256));
  if (!now || now->size != file.size) return false;
  const auto known = checked.find(file.sha256);
  if (known == checked.end() || known->second != *now) {
    if (catalog_.stamp(file.sha256) != now) {
      if (blobs_.rehash(file.sha256) != file.sha256) return false;
      catalog_.set_stamp(file.sha256, *now);
    }
    checked[file.sha256] = *now;
  }
  return true;
}

void Cache::remove(const ModuleName& name, const Version& version) {
  catalog_.require_writable();
  const auto row = catalog_.row(name, version);
  if (!row) return;
  const Manifest manifest = Manifest::parse(row->manifest);
  catalog_.remove(name, version);
  std::error_code ec;
  fs::remove_all(plans_folder(home_, manifest, *row), ec);
  std::vector<Digest> candidates = blobs_.old();
  for (const FileEntry& file : manifest.files) candidates.push_back(file.sha256);
  catalog_.sweep(candidates, [&](const Digest& digest) { blobs_.remove(digest); });
  blobs_.collect();
}

}  // namespace hub
