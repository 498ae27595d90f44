// One registry: a tree of static files behind a folder or a web server.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/digest.h"
#include "base/progress.h"
#include "hub/private_file.h"

namespace hub {

struct Settings;

class Source {
 public:
  virtual ~Source() = default;
  /// As it was given, without user and password.
  const std::string& name() const { return name_; }
  /// A small document by its path in the tree. Throws not_found, network, refused above `limit`
  /// bytes.
  virtual std::string read(std::string_view path, uint64_t limit) = 0;
  /// Fills the file with the blob of its digest, going on from where it stands. Throws as read
  /// does, and integrity.
  virtual void fetch(PrivateFile& file) = 0;

 protected:
  explicit Source(std::string name) : name_(std::move(name)) {}

 private:
  std::string name_;
};

/// "file:/path", a plain path, "http://…" or "https://…"; throws usage for anything else. Opens
/// nothing yet.
std::unique_ptr<Source> open_source(const std::string& address, const Settings& settings,
                                    Progress& progress);

}  // namespace hub
