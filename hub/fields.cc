#include "hub/fields.h"

#include <nlohmann/json.hpp>

#include "base/text.h"

namespace hub {

Fields::Fields(const json& object, std::string where) : object_(object), where_(std::move(where)) {
  if (!object.is_object()) {
    fail(Code::refused, where_, " is ", object.type_name(), "; an object is wanted");
  }
}

void Fields::refuse(std::string_view key, std::string_view why) const {
  fail(Code::refused, where_, ": '", printable(key.substr(0, 80)), "' ", why);
}

void Fields::wanted(std::string_view key, std::string_view what, const json& found) const {
  const std::string shown = found.is_primitive() ? found.dump() : found.type_name();
  refuse(key, concat("is ", printable(shown.substr(0, 80)), "; ", what, " is wanted"));
}

bool Fields::has(std::string_view key) const { return object_.find(key) != object_.end(); }

const json& Fields::any(std::string_view key) {
  asked_.emplace(key);
  const auto at = object_.find(key);
  if (at == object_.end()) refuse(key, "is missing");
  return *at;
}

std::string Fields::text(std::string_view key) {
  const json& value = any(key);
  if (!value.is_string()) wanted(key, "text", value);
  const auto& s = value.get_ref<const std::string&>();
  if (s.size() > 4096) wanted(key, "text of at most 4096 bytes", value);
  if (printable(s) != s) wanted(key, "text without control characters", value);
  return s;
}

std::string Fields::choice(std::string_view key, const std::vector<std::string>& allowed) {
  std::string word = text(key);
  for (const std::string& one : allowed) {
    if (word == one) return word;
  }
  refuse(key, concat("is '", printable(word), "'; ", one_of(allowed), " is wanted"));
}

int64_t Fields::integer(std::string_view key, int64_t least, int64_t most) {
  const json& value = any(key);
  const bool too_big = value.is_number_unsigned() && value.get<uint64_t>() > uint64_t{INT64_MAX};
  if (!value.is_number_integer() || too_big || value.get<int64_t>() < least ||
      value.get<int64_t>() > most) {
    wanted(key, concat("a whole number from ", least, " to ", most), value);
  }
  return value.get<int64_t>();
}

uint64_t Fields::size(std::string_view key, uint64_t largest) {
  return static_cast<uint64_t>(integer(key, 0, static_cast<int64_t>(largest)));
}

double Fields::number(std::string_view key) {
  const json& value = any(key);
  if (!value.is_number()) wanted(key, "a number", value);
  return value.get<double>();
}

bool Fields::boolean(std::string_view key) {
  const json& value = any(key);
  if (!value.is_boolean()) wanted(key, "true or false", value);
  return value.get<bool>();
}

std::string Fields::text(std::string_view key, std::string_view fallback) {
  return has(key) ? text(key) : std::string(fallback);
}
std::string Fields::choice(std::string_view key, const std::vector<std::string>& allowed,
                           std::string_view fallback) {
  return has(key) ? choice(key, allowed) : std::string(fallback);
}
int64_t Fields::integer(std::string_view key, int64_t least, int64_t most, int64_t fallback) {
  return has(key) ? integer(key, least, most) : fallback;
}
double Fields::number(std::string_view key, double fallback) {
  return has(key) ? number(key) : fallback;
}
bool Fields::boolean(std::string_view key, bool fallback) {
  return has(key) ? boolean(key) : fallback;
}

RelPath Fields::path(std::string_view key) {
  return within(concat(where_, ": '", key, "'"), [&] { return RelPath::parse(text(key)); });
}

std::vector<double> Fields::numbers(std::string_view key, size_t count) {
  const json& value = any(key);
  std::vector<double> out;
  if (value.is_array() && value.size() == count) {
    for (const json& item : value) {
      if (item.is_number()) out.push_back(item.get<double>());
    }
  }
  if (out.size() != count) wanted(key, concat("a list of ", count, " numbers"), value);
  return out;
}

std::vector<std::string> Fields::strings(std::string_view key) {
  if (!has(key)) return {};
  const json& value = any(key);
  std::vector<std::string> out;
  for (const json& item : value) {
    if (item.is_string()) out.push_back(item.get<std::string>());
  }
  if (!value.is_array() || out.size() != value.size()) wanted(key, "a list of texts", value);
  return out;
}

const json& Fields::object(std::string_view key) {
  const json& value = any(key);
  if (!value.is_object()) wanted(key, "an object", value);
  return value;
}

json Fields::object_or_empty(std::string_view key) {
  return has(key) ? object(key) : json::object();
}

const json& Fields::list(std::string_view key, size_t largest) {
  static const json none = json::array();
  if (!has(key)) return none;
  const json& value = any(key);
  if (!value.is_array() || value.size() > largest) {
    wanted(key, concat("a list of at most ", largest, " items"), value);
  }
  return value;
}

void Fields::done() const {
  for (const auto& [key, value] : object_.items()) {
    if (asked_.contains(key)) continue;
    const std::vector<std::string> known(asked_.begin(), asked_.end());
    fail(Code::refused, where_, ": unknown key '", printable(key.substr(0, 80)),
         "'; known here: ", one_of(known));
  }
}

}  // namespace hub
