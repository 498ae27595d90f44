#include "hub/catalog.h"

#include <unistd.h>

#include <cerrno>
#include <ctime>

#include "base/error.h"
#include "base/file.h"

namespace hub {
namespace {

constexpr int64_t hour = 3600;

}  // namespace

std::string marker_path(const std::string& home, const ModuleName& name, const Version& version) {
  return concat(home, "/modules/", name.str(), "/", version.str());
}

Catalog::Catalog(std::string home, Progress& progress)
    : home_(std::move(home)), path_(home_ + "/hub.db"), progress_(progress) {
  open();
}

/// Runs f on the database; when that turns out to be damaged, once more on a new one.
template <class F>
auto Catalog::use(F f) {
  const std::lock_guard lock(mutex_);
  try {
    return patiently([&] { return f(*database_); });
  } catch (const DamagedDatabase& e) {
    set_aside(e.what());
    open();
    return f(*database_);
  }
}

void Catalog::require_writable() const {
  if (!writable()) {
    fail(Code::storage, "the cache ", home_, " cannot be written (", obstacle_,
         "); what is in it can be used; give another folder to install more");
  }
}

std::vector<std::pair<ModuleName, Version>> Catalog::modules(const ModuleName* name) {
  return use([&](Database& db) {
    auto rows = db.prepare(name ? "SELECT name, version FROM modules WHERE name = ?1"
                                : "SELECT name, version FROM modules");
    if (name) rows.bind(1, name->str());
    std::vector<std::pair<ModuleName, Version>> found;
    while (rows.step())
      found.emplace_back(ModuleName::parse(rows.text(0)), Version::parse(rows.text(1)));
    return found;
  });
}

std::optional<CatalogRow> Catalog::row(const ModuleName& name, const Version& version) {
  return use([&](Database& db) -> std::optional<CatalogRow> {
    auto module = db.prepare(
        "SELECT id, manifest, digest, registry, installed_at, last_used FROM modules WHERE name = "
        "?1 AND "
        "version = ?2");
    if (!module.bind(1, name.str()).bind(2, version.str()).step()) return std::nullopt;
    CatalogRow row{module.text(1),    module.text(2),    module.text(3),
                   module.integer(4), module.integer(5), {}};
    auto blobs = db.prepare(
        "SELECT b.digest, b.size, b.mtime_ns, b.inode FROM files f JOIN blobs b ON b.digest = "
        "f.digest WHERE f.module = ?1");
    blobs.bind(1, module.integer(0));
    while (blobs.step()) {
      row.stamps[Digest::parse(blobs.text(0))] = {static_cast<uint64_t>(blobs.integer(1)),
                                                  blobs.integer(2),
                                                  static_cast<uint64_t>(blobs.integer(3))};
    }
    return row;
  });
}

std::optional<Stamp> Catalog::stamp(const Digest& digest) {
  return use([&](Database& db) -> std::optional<Stamp> {
    auto blob = db.prepare("SELECT size, mtime_ns, inode FROM blobs WHERE digest = ?1");
    if (!blob.bind(1, digest.hex()).step()) return std::nullopt;
    return Stamp{static_cast<uint64_t>(blob.integer(0)), blob.integer(1),
                 static_cast<uint64_t>(blob.integer(2))};
  });
}

void Catalog::insert(Database& db, const Manifest& manifest, const std::string& registry,
                     int64_t time, const Stamps& stamps) {
  auto old = db.prepare(
      "DELETE FROM files WHERE module IN (SELECT id FROM modules WHERE name = ?1 AND version = "
      "?2)");
  old.bind(1, manifest.name.str()).bind(2, manifest.version.str()).step();
  auto module = db.prepare(
      "INSERT INTO modules(name, version, manifest, digest, registry, installed_at, last_used) "
      "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6) "
      "ON CONFLICT(name, version) DO UPDATE SET manifest = ?3, digest = ?4, registry = ?5 "
      "RETURNING id");
  module.bind(1, manifest.name.str()).bind(2, manifest.version.str()).bind(3, manifest.text);
  module.bind(4, Sha256::of(manifest.text).hex()).bind(5, registry).bind(6, time);
  module.step();
  const int64_t id = module.integer(0);
  module.step();
  for (const FileEntry& file : manifest.files) {
    auto row = db.prepare("INSERT INTO files(module, path, digest, size) VALUES (?1, ?2, ?3, ?4)");
    row.bind(1, id)
        .bind(2, file.path.str())
        .bind(3, file.sha256.hex())
        .bind(4, static_cast<int64_t>(file.size))
        .step();
    const auto stamp = stamps.find(file.sha256);
    const Stamp s = stamp == stamps.end() ? Stamp{} : stamp->second;
    auto blob = db.prepare(
        "INSERT OR REPLACE INTO blobs(digest, size, mtime_ns, inode) VALUES (?1, ?2, ?3, ?4)");
    blob.bind(1, file.sha256.hex()).bind(2, static_cast<int64_t>(s.size)).bind(3, s.mtime_ns);
    blob.bind(4, static_cast<int64_t>(s.inode)).step();
  }
}

bool Catalog::put(const Manifest& manifest, const std::string& registry, const Stamps& checked,
                  const Blobs& blobs) {
  return use([&](Database& db) {
    Transaction transaction(db);
    Stamps stamps;
    for (const FileEntry& file : manifest.files) {
      const auto now = Stamp::of(blobs.path(file.sha256));
      if (!now || now->size != file.size) return false;
      // A file that somebody put there since it was checked is checked again on first use.
      const auto then = checked.find(file.sha256);
      stamps[file.sha256] = then != checked.end() && then->second == *now ? *now : Stamp{};
    }
    blobs.write(marker_path(home_, manifest.name, manifest.version), manifest.text,
                "the manifest of " + manifest.id());
    insert(db, manifest, registry, std::time(nullptr), stamps);
    transaction.commit();
    return true;
  });
}

void Catalog::remove(const ModuleName& name, const Version& version) {
  use([&](Database& db) {
    Transaction transaction(db);
    const std::string marker = marker_path(home_, name, version);
    if (::unlink(marker.c_str()) != 0 && errno != ENOENT) fail_errno("cannot remove", marker);
    ::rmdir(marker.substr(0, marker.rfind('/')).c_str());  // when it was the last version
    for (const char* sql : {"DELETE FROM files WHERE module IN (SELECT id FROM modules WHERE name "
                            "= ?1 AND version = ?2)",
                            "DELETE FROM modules WHERE name = ?1 AND version = ?2"}) {
      db.prepare(sql).bind(1, name.str()).bind(2, version.str()).step();
    }
    transaction.commit();
  });
}

void Catalog::sweep(const std::vector<Digest>& candidates,
                    const std::function<void(const Digest&)>& unlink) {
  use([&](Database& db) {
    Transaction transaction(db);
    for (const Digest& digest : candidates) {
      auto users = db.prepare("SELECT 1 FROM files WHERE digest = ?1");
      if (users.bind(1, digest.hex()).step()) continue;
      unlink(digest);
      db.prepare("DELETE FROM blobs WHERE digest = ?1").bind(1, digest.hex()).step();
    }
    transaction.commit();
  });
}

void Catalog::set_stamp(const Digest& digest, const Stamp& stamp) {
  if (!writable()) return;
  try {
    use([&](Database& db) {
      auto blob =
          db.prepare("UPDATE blobs SET size = ?2, mtime_ns = ?3, inode = ?4 WHERE digest = ?1");
      blob.bind(1, digest.hex()).bind(2, static_cast<int64_t>(stamp.size)).bind(3, stamp.mtime_ns);
      blob.bind(4, static_cast<int64_t>(stamp.inode)).step();
    });
  } catch (const Error&) {
    // The file is hashed once more at the next use.
  }
}

void Catalog::touch(const ModuleName& name, const Version& version) {
  if (!writable()) return;
  try {
    use([&](Database& db) {
      const int64_t now = std::time(nullptr);
      auto old =
          db.prepare("SELECT 1 FROM modules WHERE name = ?1 AND version = ?2 AND last_used < ?3");
      if (!old.bind(1, name.str()).bind(2, version.str()).bind(3, now - hour).step()) return;
      old.reset();
      db.run("PRAGMA synchronous = NORMAL");  // no wait for the disk on the way to a prediction
      auto row = db.prepare("UPDATE modules SET last_used = ?3 WHERE name = ?1 AND version = ?2");
      row.bind(1, name.str()).bind(2, version.str()).bind(3, now).step();
      db.run("PRAGMA synchronous = FULL");
    });
  } catch (const Error&) {
    // Only the time of the last use stays old.
  }
}

}  // namespace hub
