// The journal of a big batch: the result lines of `hub run`, kept in a file from which a run that
// was stopped goes on.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <unordered_set>

#include "modules/module.h"

namespace hub {

/// Its first line says what makes the results: the module and the options. Then one line an input,
/// as `--json` prints it; an input that failed and was tried again has several, the last of which
/// counts. A line that was cut off by the end of the program is taken away.
class Journal {
 public:
  /// Opens the file or begins it. Throws Code::refused when it is no journal or one of other
  /// results than `maker` makes, Code::busy when another process writes it, Code::storage.
  Journal(const std::string& path, const json& maker);
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  /// Whether the input has a result, and no error.
  bool done(const std::string& input) const { return done_.contains(input); }
  /// The names of the files that results were written to.
  const std::set<std::string>& files() const { return files_; }
  /// One result line. It is in the file when this returns, and safe from a power cut a second later
  /// at most or when the journal is closed. Throws Code::storage and leaves no half line.
  void add(const std::string& line);

 private:
  void read(const json& maker);
  void sync();

  std::string path_;
  int fd_ = -1;
  int64_t size_ = 0;
  int64_t synced_ = 0;  ///< seconds of the clock
  std::unordered_set<std::string> done_;
  std::set<std::string> files_;
};

}  // namespace hub
