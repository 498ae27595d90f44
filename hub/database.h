// SQLite in few words: a connection, prepared statements, errors of ours. The only place that sees
// sqlite3.h.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"

struct sqlite3;
struct sqlite3_stmt;

namespace hub {

/// The file is not a database, or its structure is broken.
struct DamagedDatabase : Error {
  using Error::Error;
};

class Statement {
 public:
  Statement& bind(int place, int64_t value);
  Statement& bind(int place, std::string_view value);
  /// True when there is a row.
  bool step();
  /// Ends the reading, so that another statement can write.
  void reset();
  int64_t integer(int column) const;
  std::string text(int column) const;

 private:
  friend class Database;
  Statement(sqlite3_stmt* statement, std::string path)
      : statement_(statement, &finalize), path_(std::move(path)) {}
  static void finalize(sqlite3_stmt* statement);
  std::unique_ptr<sqlite3_stmt, void (*)(sqlite3_stmt*)> statement_;
  std::string path_;
};

class Database {
 public:
  static constexpr int busy_ms = 20'000;  ///< how long another process is waited for
  /// `read_only`: nothing is written, not even beside the file. `immutable`: the caller knows that
  /// nobody writes. An empty path is a database in memory.
  enum class Mode { read_write, read_only, immutable };
  Database(const std::string& path, Mode mode);
  Statement prepare(std::string_view sql);
  void run(std::string_view sql);

 private:
  std::unique_ptr<sqlite3, void (*)(sqlite3*)> handle_;
  std::string path_;
};

/// BEGIN IMMEDIATE … COMMIT; rolled back when it is left without commit().
class Transaction {
 public:
  explicit Transaction(Database& database) : database_(database) {
    database_.run("BEGIN IMMEDIATE");
  }
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  void commit();

 private:
  Database& database_;
  bool open_ = true;
};

}  // namespace hub
