// Names and versions of modules, as types with a grammar.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hub {

/// name = part *( "-" part ); part = 1*( a-z / 0-9 ); at most 64 bytes, a letter first. "_" and
/// upper case are refused, with the spelling that would be right in the message.
class ModuleName {
 public:
  static ModuleName parse(std::string_view text);
  const std::string& str() const { return name_; }
  auto operator<=>(const ModuleName&) const = default;

 private:
  explicit ModuleName(std::string name) : name_(std::move(name)) {}
  std::string name_;
};

/// MAJOR.MINOR.PATCH[-PRERELEASE], ordered as semver.org 2.0 says; no build part.
class Version {
 public:
  static Version parse(std::string_view text);
  const std::string& str() const { return text_; }
  bool prerelease() const { return !pre_.empty(); }
  std::strong_ordering operator<=>(const Version& other) const;
  bool operator==(const Version& other) const { return text_ == other.text_; }

 private:
  std::string text_;
  uint64_t numbers_[3] = {};
  std::vector<std::string> pre_;
};

/// "lac", "lac@2.1.2", "lac@latest"; PaddleHub's "lac==2.1.2" as well.
struct Request {
  ModuleName name;
  std::optional<Version> version;  ///< none: the newest that is not a pre-release
  static Request parse(std::string_view text);
  std::string str() const;
};

/// A condition on a version: ">=0.1", "<2", ">=1.2.0 <2.0.0"; missing numbers are zero.
class VersionRange {
 public:
  static VersionRange parse(std::string_view text);
  bool contains(const Version& version) const;
  const std::string& str() const { return text_; }

 private:
  std::string text_;
  std::vector<std::pair<std::string, Version>> conditions_;
};

}  // namespace hub
