// The cache's database, hub.db: which modules are here and what their blobs looked like when they
// were checked. An index only: lost or damaged, it is made again from the manifests kept under
// modules/.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/progress.h"
#include "hub/blobs.h"
#include "hub/database.h"
#include "hub/manifest.h"

namespace hub {

using Stamps = std::map<Digest, Stamp>;

struct CatalogRow {
  std::string manifest;  ///< its bytes
  std::string digest;    ///< of the manifest, hexadecimal; kept because starting OpenSSL costs 2 ms
  std::string registry;
  int64_t installed_at = 0, last_used = 0;  ///< seconds since 1970
  Stamps stamps;  ///< of the blobs of its files; a zero stamp was never checked
};

/// Runs f, again and again while the database is busy: SQLite waits by itself, but not in every
/// case (another process that turns the log on, or folds it in as it ends).
template <class F>
auto patiently(F f) {
  const auto start = std::chrono::steady_clock::now();
  for (;;) {
    try {
      return f();
    } catch (const Error& e) {
      const auto waited = std::chrono::steady_clock::now() - start;
      if (e.code() != Code::busy || waited > std::chrono::milliseconds(Database::busy_ms)) throw;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
}

/// Safe to share between threads.
class Catalog {
 public:
  /// Opens hub.db, or makes it. A cache that cannot be written is only read; damage is set aside
  /// with a note.
  Catalog(std::string home, Progress& progress);

  /// Throws Code::storage with the reason when nothing can be written here.
  void require_writable() const;
  bool writable() const { return obstacle_.empty(); }
  /// Name and version of every module that is complete; of one name when it is given.
  std::vector<std::pair<ModuleName, Version>> modules(const ModuleName* name = nullptr);
  std::optional<CatalogRow> row(const ModuleName& name, const Version& version);
  std::optional<Stamp> stamp(const Digest& digest);
  /// Makes the module visible: manifest under modules/, then the rows. False, and nothing done,
  /// when one of its blobs is not there. All under the write lock, so that no uninstall comes in
  /// between.
  bool put(const Manifest& manifest, const std::string& registry, const Stamps& checked,
           const Blobs& blobs);
  void remove(const ModuleName& name, const Version& version);
  /// Calls `unlink` for each of these blobs that no module uses, under the write lock.
  void sweep(const std::vector<Digest>& candidates,
             const std::function<void(const Digest&)>& unlink);
  /// Best effort, as the next two: failing to note it changes nothing.
  void set_stamp(const Digest& digest, const Stamp& stamp);
  /// Notes the time, unless it was noted within the hour.
  void touch(const ModuleName& name, const Version& version);

 private:
  template <class F>
  auto use(F f);
  void open();
  void connect();
  void read_only();
  void create();
  void rebuild(Database& database);
  void set_aside(const std::string& reason);
  void insert(Database& database, const Manifest& manifest, const std::string& registry,
              int64_t time, const Stamps& stamps);

  std::string home_, path_;
  Progress& progress_;
  std::mutex mutex_;
  std::optional<Database> database_;
  std::string obstacle_;  ///< why nothing can be written
  uint64_t inode_ = 0;    ///< of the database that is open
};

/// Where the manifest of a complete module is kept below the home of the cache.
std::string marker_path(const std::string& home, const ModuleName& name, const Version& version);

}  // namespace hub
