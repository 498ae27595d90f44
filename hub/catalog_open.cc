// Opening the catalog: for writing, for reading only, or made again from the manifests under
// modules/.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "hub/catalog.h"
#include "hub/record_lock.h"

namespace hub {
namespace {

namespace fs = std::filesystem;
constexpr int64_t schema = 1;
constexpr auto patience = std::chrono::seconds(20);

constexpr const char* tables = R"(
CREATE TABLE modules(id INTEGER PRIMARY KEY, name TEXT NOT NULL, version TEXT NOT NULL, manifest TEXT NOT NULL,
                     digest TEXT NOT NULL, registry TEXT NOT NULL, installed_at INTEGER NOT NULL,
                     last_used INTEGER NOT NULL, UNIQUE(name, version)) STRICT;
CREATE TABLE files(module INTEGER NOT NULL, path TEXT NOT NULL, digest TEXT NOT NULL, size INTEGER NOT NULL,
                   PRIMARY KEY(module, path)) STRICT, WITHOUT ROWID;
CREATE INDEX files_by_digest ON files(digest);
CREATE TABLE blobs(digest TEXT PRIMARY KEY, size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL,
                   inode INTEGER NOT NULL) STRICT, WITHOUT ROWID;
PRAGMA user_version = 1;
)";

int64_t schema_of(Database& db) {
  auto version = db.prepare("PRAGMA user_version");
  version.step();
  return version.integer(0);
}

/// Write-ahead logging maps shared memory, which network file systems do not give.
bool local_file_system(const std::string& path) {
  struct statfs st {};
  if (::statfs(path.c_str(), &st) != 0) return false;
  for (const unsigned long kind :
       {0x6969UL, 0x01021997UL, 0xff534d42UL, 0xfe534d42UL, 0x65735546UL, 0x0bd00bd0UL}) {
    if (static_cast<unsigned long>(st.f_type) == kind)
      return false;  // NFS, 9p, CIFS, SMB2, FUSE, Lustre
  }
  return true;
}

/// "" when the cache can be written, else why not.
std::string obstacle(const std::string& home, const std::string& database) {
  try {
    make_folders(home + "/tmp");
  } catch (const Error& e) {
    return e.what();
  }
  for (const std::string& path : {home, home + "/tmp", database}) {
    if (::faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) != 0 && errno != ENOENT) {
      return concat(path, ": ", std::strerror(errno));
    }
  }
  return "";
}

RecordLock lock_database(const std::string& home) {
  return RecordLock(
      home + "/tmp/lock", RecordLock::database, patience, [] { return 0; },
      [&] {
        return concat("another process is making ", home,
                      "/hub.db; wait and run the same command again");
      });
}

}  // namespace

void Catalog::open() {
  database_.reset();
  obstacle_ = obstacle(home_, path_);
  if (!writable()) return read_only();
  try {
    patiently([&] { connect(); });
  } catch (const DamagedDatabase& e) {
    set_aside(e.what());
    connect();
  } catch (const Error& e) {
    if (e.code() != Code::storage) throw;
    obstacle_ = e.what();  // a full disk, say: what is here can still be used
    read_only();
  }
}

void Catalog::connect() {
  // Made here and not by SQLite, so that the umask decides who shares the cache.
  const int fd = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (fd < 0) fail_errno("cannot open", path_);
  const auto stamp = Stamp::of(fd);
  inode_ = stamp ? stamp->inode : 0;
  ::close(fd);
  database_.emplace(path_, Database::Mode::read_write);
  if (schema_of(*database_) == 0) create();
  if (const int64_t found = schema_of(*database_); found != schema) {
    fail(Code::unsupported, path_, " has schema ", found, "; this hub knows ", schema,
         ": use a newer hub, or move the file away and it is made again from the modules that are "
         "here");
  }
}

void Catalog::read_only() {
  database_.reset();
  std::error_code ec;
  const bool unfinished = fs::file_size(path_ + "-wal", ec) > 0 && !ec;
  for (const auto mode : {Database::Mode::read_only, Database::Mode::immutable}) {
    if (!exists(path_) || (mode == Database::Mode::immutable && unfinished)) continue;
    try {
      database_.emplace(path_, mode);
      if (schema_of(*database_) == schema) return;
    } catch (const Error&) {
      // The next way, then.
    }
  }
  database_.emplace("", Database::Mode::read_write);
  database_->run(tables);
  rebuild(*database_);
}

void Catalog::create() {
  const RecordLock lock = lock_database(home_);
  if (local_file_system(home_)) database_->run("PRAGMA journal_mode = WAL");
  Transaction transaction(*database_);
  if (schema_of(*database_) != 0) return;
  database_->run(tables);
  rebuild(*database_);
  transaction.commit();
}

void Catalog::rebuild(Database& database) {
  std::error_code ec;
  size_t count = 0;
  for (const auto& folder : fs::directory_iterator(home_ + "/modules", ec)) {
    std::error_code inner;
    for (const auto& file : fs::directory_iterator(folder.path(), inner)) {
      const std::string path = file.path().string();
      try {
        const Manifest manifest = Manifest::parse(read_file(path, size_t{1} << 20));
        if (marker_path(home_, manifest.name, manifest.version) != path) continue;
        const auto stamp = Stamp::of(path);
        insert(database, manifest, "", stamp ? stamp->mtime_ns / 1'000'000'000 : 0, {});
        ++count;
      } catch (const DamagedDatabase&) {
        throw;
      } catch (const Error& e) {
        progress_.note(concat("left out ", path, ", which is not a manifest: ", e.what()));
      }
    }
  }
  if (count > 0)
    progress_.note(concat("made the list of installed modules again from ", home_,
                          "/modules: ", count, " found"));
}

void Catalog::set_aside(const std::string& reason) {
  database_.reset();
  if (!writable()) return;
  const RecordLock lock = lock_database(home_);
  const auto stamp = Stamp::of(path_);
  if (!stamp || stamp->inode != inode_) return;  // another process was faster
  const std::string aside = concat(path_, ".damaged-", static_cast<int64_t>(std::time(nullptr)));
  for (const char* part : {"-wal", "-shm", ""}) {
    if (::rename((path_ + part).c_str(), (aside + part).c_str()) != 0 && errno != ENOENT) {
      fail_errno("cannot set aside the damaged", path_);
    }
  }
  progress_.note(concat(reason, "; it was moved to ", aside));
}

}  // namespace hub
