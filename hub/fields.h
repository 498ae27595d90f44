// The members of a JSON object from outside, read by kind: each key is asked for, and what nobody
// asked for is refused. The strict parser that makes such objects is parse_json of hub/manifest.h.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/file.h"

namespace hub {

using json = nlohmann::json;

/// `where` names the object in messages ("lac@2.1.2: preprocess"). Every reader throws Code::refused
/// naming the key, what was found and what was wanted; without a fallback a missing key is refused.
/// Refers to the object, which must live as long as this. Call done() last.
class Fields {
 public:
  Fields(const json& object, std::string where);

  bool has(std::string_view key) const;
  /// One line of text without control characters, at most 4096 bytes.
  std::string text(std::string_view key);
  std::string text(std::string_view key, std::string_view fallback);
  /// One of the words of `allowed`.
  std::string choice(std::string_view key, const std::vector<std::string>& allowed);
  std::string choice(std::string_view key, const std::vector<std::string>& allowed,
                     std::string_view fallback);
  /// A whole number within [least, most].
  int64_t integer(std::string_view key, int64_t least, int64_t most);
  int64_t integer(std::string_view key, int64_t least, int64_t most, int64_t fallback);
  /// A number of bytes.
  uint64_t size(std::string_view key, uint64_t largest);
  double number(std::string_view key);
  double number(std::string_view key, double fallback);
  bool boolean(std::string_view key);
  bool boolean(std::string_view key, bool fallback);
  RelPath path(std::string_view key);
  std::vector<double> numbers(std::string_view key, size_t count);  ///< exactly so many
  std::vector<std::string> strings(std::string_view key);           ///< missing: empty
  const json& object(std::string_view key);
  json object_or_empty(std::string_view key);
  /// Missing: an empty list.
  const json& list(std::string_view key, size_t largest);
  /// Any kind of value.
  const json& any(std::string_view key);
  /// Refuses the keys that nobody asked for.
  void done() const;

  /// Throws Code::refused: "<where>: '<key>' <why>".
  [[noreturn]] void refuse(std::string_view key, std::string_view why) const;
  const std::string& where() const { return where_; }

 private:
  [[noreturn]] void wanted(std::string_view key, std::string_view what, const json& found) const;

  const json& object_;
  std::string where_;
  std::set<std::string, std::less<>> asked_;
};

}  // namespace hub
