// JSON objects read by kind: each key is asked for once, and what nobody asked for is refused. The
// strict parser that makes the objects is parse_json of hub/manifest.h.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <string_view>

namespace hub {

using json = nlohmann::json;

/// The members of one object; `where` names it in messages ("files[3]"). Every reader throws
/// Code::refused naming the key and what was found. Refers to the object: it must live as long as
/// this.
class JsonFields {
 public:
  JsonFields(const json& object, std::string where);

  bool has(std::string_view key) const;
  /// One line of text without control characters, at most 4096 bytes.
  std::string text(std::string_view key);
  std::string text_or(std::string_view key, std::string_view fallback);
  uint64_t number(std::string_view key, uint64_t largest);
  /// Finite and not negative.
  double real_or(std::string_view key, double fallback);
  const json& object(std::string_view key);
  json object_or_empty(std::string_view key);
  /// An empty list when the key is absent.
  const json& list(std::string_view key, size_t largest);
  /// Any kind of value; the key must be there.
  const json& any(std::string_view key);
  /// Call last: refuses the keys that were not read.
  void end() const;

  const std::string& where() const { return where_; }

 private:
  [[noreturn]] void refuse(std::string_view key, std::string_view wanted, const json& found) const;

  const json& object_;
  std::string where_;
  std::set<std::string, std::less<>> read_;
};

}  // namespace hub
