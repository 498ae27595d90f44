#include "hub/json.h"

#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "hub/manifest.h"

namespace hub {
namespace {

/// Watches the events of the parser, which come before the values are built.
class Guard {
 public:
  explicit Guard(int max_depth) : max_depth_(max_depth) {}

  bool operator()(int depth, json::parse_event_t event, json& value) {
    using Event = json::parse_event_t;
    if (event == Event::object_start || event == Event::array_start) {
      if (depth >= max_depth_) {
        fail(Code::refused, "JSON is nested deeper than ", max_depth_, " levels");
      }
      keys_.resize(static_cast<size_t>(depth) + 1);
    } else if (event == Event::key) {
      const auto& key = value.get_ref<const std::string&>();
      if (!keys_.back().insert(key).second) {
        fail(Code::refused, "JSON has the key '", printable(key.substr(0, 80)), "' twice");
      }
    } else if (event == Event::object_end || event == Event::array_end) {
      keys_.resize(static_cast<size_t>(depth));
    }
    return true;
  }

 private:
  int max_depth_;
  std::vector<std::set<std::string>> keys_;  ///< of the open objects, outermost first
};

}  // namespace

json parse_json(std::string_view text, size_t max_bytes, int max_depth) {
  if (text.size() > max_bytes) {
    fail(Code::refused, "JSON of ", text.size(), " bytes; at most ", max_bytes, " are read");
  }
  if (text.starts_with("\xef\xbb\xbf")) {
    fail(Code::refused, "JSON starts with a byte order mark; save it as UTF-8 without one");
  }
  // The parser takes a zero byte for the end of the text.
  if (text.find('\0') != text.npos) fail(Code::refused, "not valid JSON: it holds a zero byte");
  try {
    auto guard = std::make_shared<Guard>(max_depth);
    return json::parse(text.begin(), text.end(), [guard](int depth, auto event, json& value) {
      return (*guard)(depth, event, value);
    });
  } catch (const json::exception& e) {
    std::string_view what = e.what();
    const size_t id_end = what.find("] ");
    if (id_end != what.npos) what.remove_prefix(id_end + 2);
    fail(Code::refused, "not valid JSON: ", printable(what.substr(0, 300)));
  }
}

JsonFields::JsonFields(const json& object, std::string where)
    : object_(object), where_(std::move(where)) {
  if (!object.is_object()) {
    fail(Code::refused, where_, " is ", object.type_name(), "; an object is wanted");
  }
}

void JsonFields::refuse(std::string_view key, std::string_view wanted, const json& found) const {
  std::string shown = found.is_primitive() ? found.dump() : found.type_name();
  fail(Code::refused, where_, ": '", key, "' is ", printable(shown.substr(0, 80)), "; ", wanted,
       " is wanted");
}

bool JsonFields::has(std::string_view key) const { return object_.find(key) != object_.end(); }

const json& JsonFields::any(std::string_view key) {
  const auto at = object_.find(key);
  if (at == object_.end()) fail(Code::refused, where_, ": the key '", key, "' is missing");
  read_.emplace(key);
  return *at;
}

std::string JsonFields::text(std::string_view key) {
  const json& value = any(key);
  if (!value.is_string()) refuse(key, "text", value);
  const auto& s = value.get_ref<const std::string&>();
  if (s.size() > 4096) refuse(key, "text of at most 4096 bytes", value);
  if (printable(s) != s) refuse(key, "text without control characters", value);
  return s;
}

std::string JsonFields::text_or(std::string_view key, std::string_view fallback) {
  return has(key) ? text(key) : std::string(fallback);
}

uint64_t JsonFields::number(std::string_view key, uint64_t largest) {
  const json& value = any(key);
  if (!value.is_number_unsigned() || value.get<uint64_t>() > largest) {
    refuse(key, concat("a whole number from 0 to ", largest), value);
  }
  return value.get<uint64_t>();
}

double JsonFields::real_or(std::string_view key, double fallback) {
  if (!has(key)) return fallback;
  const json& value = any(key);
  if (!value.is_number() || !(value.get<double>() >= 0)) {
    refuse(key, "a number that is not negative", value);
  }
  return value.get<double>();
}

const json& JsonFields::object(std::string_view key) {
  const json& value = any(key);
  if (!value.is_object()) refuse(key, "an object", value);
  return value;
}

json JsonFields::object_or_empty(std::string_view key) {
  return has(key) ? object(key) : json::object();
}

const json& JsonFields::list(std::string_view key, size_t largest) {
  static const json none = json::array();
  if (!has(key)) return none;
  const json& value = any(key);
  if (!value.is_array() || value.size() > largest) {
    refuse(key, concat("a list of at most ", largest, " items"), value);
  }
  return value;
}

void JsonFields::end() const {
  for (const auto& [key, value] : object_.items()) {
    if (!read_.contains(key)) {
      std::vector<std::string> known(read_.begin(), read_.end());
      fail(Code::refused, where_, ": unknown key '", printable(key.substr(0, 80)),
           "'; known here: ", one_of(known));
    }
  }
}

}  // namespace hub
