#include "hub/database.h"

#include <sqlite3.h>

namespace hub {
namespace {

[[noreturn]] void fail_sqlite(sqlite3* handle, const std::string& path) {
  const int code = sqlite3_errcode(handle);
  const std::string reason = sqlite3_errmsg(handle);
  switch (code & 0xff) {
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT:
      throw DamagedDatabase(Code::storage, concat(path, " is damaged: ", reason));
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      fail(Code::busy, path, " has been locked by another process for ", Database::busy_ms / 1000,
           " s; end it, or wait, and run the same command again");
    case SQLITE_FULL:
      fail(Code::storage, "no room for ", path, "; free some space and run the same command again");
    default: fail(Code::storage, "cannot use ", path, ": ", reason);
  }
}

/// A path as an SQLite URI.
std::string uri(const std::string& path, std::string_view query) {
  static constexpr char digits[] = "0123456789ABCDEF";
  std::string out = "file:";
  for (const char c : path) {
    if (c == '%' || c == '?' || c == '#') {
      out += '%';
      out += digits[static_cast<unsigned char>(c) >> 4];
      out += digits[c & 15];
    } else {
      out += c;
    }
  }
  return concat(out, "?", query);
}

}  // namespace

void Statement::finalize(sqlite3_stmt* statement) { sqlite3_finalize(statement); }

Statement& Statement::bind(int place, int64_t value) {
  sqlite3_bind_int64(statement_.get(), place, value);
  return *this;
}

Statement& Statement::bind(int place, std::string_view value) {
  sqlite3_bind_text64(statement_.get(), place, value.data(), value.size(), SQLITE_TRANSIENT,
                      SQLITE_UTF8);
  return *this;
}

bool Statement::step() {
  const int code = sqlite3_step(statement_.get());
  if (code != SQLITE_ROW && code != SQLITE_DONE)
    fail_sqlite(sqlite3_db_handle(statement_.get()), path_);
  return code == SQLITE_ROW;
}

void Statement::reset() { sqlite3_reset(statement_.get()); }

int64_t Statement::integer(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}

std::string Statement::text(int column) const {
  const auto* p = reinterpret_cast<const char*>(sqlite3_column_text(statement_.get(), column));
  return p == nullptr
             ? ""
             : std::string(p, static_cast<size_t>(sqlite3_column_bytes(statement_.get(), column)));
}

Database::Database(const std::string& path, Mode mode)
    : handle_(nullptr, [](sqlite3* h) { sqlite3_close_v2(h); }), path_(path) {
  const std::string name =
      path.empty() ? ":memory:"
                   : uri(path, mode == Mode::immutable ? "immutable=1" : "cache=private");
  const int flags =
      mode == Mode::read_write ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY;
  sqlite3* handle = nullptr;
  const int code = sqlite3_open_v2(name.c_str(), &handle, flags | SQLITE_OPEN_URI, nullptr);
  handle_.reset(handle);
  if (code != SQLITE_OK) fail_sqlite(handle, path_);
  sqlite3_busy_timeout(handle, busy_ms);
}

Statement Database::prepare(std::string_view sql) {
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(handle_.get(), sql.data(), static_cast<int>(sql.size()), &statement,
                         nullptr) != SQLITE_OK) {
    fail_sqlite(handle_.get(), path_);
  }
  return Statement(statement, path_);
}

void Database::run(std::string_view sql) {
  if (sqlite3_exec(handle_.get(), std::string(sql).c_str(), nullptr, nullptr, nullptr) !=
      SQLITE_OK) {
    fail_sqlite(handle_.get(), path_);
  }
}

Transaction::~Transaction() {
  if (!open_) return;
  try {
    database_.run("ROLLBACK");
  } catch (const Error&) {
    // SQLite has rolled back by itself; the first error is on its way.
  }
}

void Transaction::commit() {
  database_.run("COMMIT");
  open_ = false;
}

}  // namespace hub
