// The keys of one JSON object from a manifest, read with their types; what nobody asked for is
// refused at the end.
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

/// Every reader throws Code::refused naming `where` and the key: "lac@2.1.2: preprocess: 'vocab'
/// …". Without a fallback a missing key is refused. Call done() after the last one. The object must
/// outlive this.
class Fields {
 public:
  Fields(const json& object, std::string where);

  bool has(std::string_view key);  ///< counts as asked for
  std::string str(std::string_view key);
  std::string str(std::string_view key, std::string_view fallback);
  /// One of the words of `allowed`.
  std::string choice(std::string_view key, const std::vector<std::string>& allowed);
  std::string choice(std::string_view key, const std::vector<std::string>& allowed,
                     std::string_view fallback);
  /// A whole number within [least, most].
  int64_t integer(std::string_view key, int64_t least, int64_t most);
  int64_t integer(std::string_view key, int64_t least, int64_t most, int64_t fallback);
  double number(std::string_view key);
  double number(std::string_view key, double fallback);
  bool boolean(std::string_view key);
  bool boolean(std::string_view key, bool fallback);
  std::vector<double> numbers(std::string_view key, size_t count);  ///< exactly so many
  std::vector<std::string> strings(std::string_view key);           ///< missing: empty
  RelPath path(std::string_view key);
  /// Refuses the keys that nobody asked for.
  void done() const;

  /// Throws Code::refused: "<where>: '<key>' <why>".
  [[noreturn]] void refuse(std::string_view key, std::string_view why) const;

 private:
  const json* find(std::string_view key);
  const json& need(std::string_view key);
  const json& object_;
  std::string where_;
  std::set<std::string, std::less<>> asked_;
};

}  // namespace hub
