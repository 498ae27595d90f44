#include "modules/fields.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/text.h"

namespace hub {

Fields::Fields(const json& object, std::string where) : object_(object), where_(std::move(where)) {
  if (!object.is_object())
    fail(Code::refused, where_, ": is ", object.type_name(), ", wanted an object");
}

void Fields::refuse(std::string_view key, std::string_view why) const {
  fail(Code::refused, where_, ": '", printable(key), "' ", why);
}

const json* Fields::find(std::string_view key) {
  asked_.emplace(key);
  const auto it = object_.find(key);
  return it == object_.end() ? nullptr : &*it;
}

const json& Fields::need(std::string_view key) {
  const json* value = find(key);
  if (value == nullptr) refuse(key, "is missing");
  return *value;
}

bool Fields::has(std::string_view key) { return find(key) != nullptr; }

std::string Fields::str(std::string_view key) {
  const json& value = need(key);
  if (!value.is_string()) refuse(key, concat("is ", value.type_name(), ", wanted a string"));
  return value.get<std::string>();
}

std::string Fields::str(std::string_view key, std::string_view fallback) {
  return has(key) ? str(key) : std::string(fallback);
}

std::string Fields::choice(std::string_view key, const std::vector<std::string>& allowed) {
  std::string word = str(key);
  for (const std::string& one : allowed) {
    if (word == one) return word;
  }
  refuse(key, concat("is '", printable(word), "', wanted ", one_of(allowed)));
}

std::string Fields::choice(std::string_view key, const std::vector<std::string>& allowed,
                           std::string_view fallback) {
  return has(key) ? choice(key, allowed) : std::string(fallback);
}

int64_t Fields::integer(std::string_view key, int64_t least, int64_t most) {
  const json& value = need(key);
  const bool too_big = value.is_number_unsigned() && value.get<uint64_t>() > uint64_t{INT64_MAX};
  if (!value.is_number_integer() || too_big || value.get<int64_t>() < least ||
      value.get<int64_t>() > most) {
    refuse(key, concat("is ", value.is_number() ? value.dump() : value.type_name(),
                       ", wanted a whole number from ", least, " to ", most));
  }
  return value.get<int64_t>();
}

int64_t Fields::integer(std::string_view key, int64_t least, int64_t most, int64_t fallback) {
  return has(key) ? integer(key, least, most) : fallback;
}

double Fields::number(std::string_view key) {
  const json& value = need(key);
  if (!value.is_number()) refuse(key, concat("is ", value.type_name(), ", wanted a number"));
  return value.get<double>();
}

double Fields::number(std::string_view key, double fallback) {
  return has(key) ? number(key) : fallback;
}

bool Fields::boolean(std::string_view key) {
  const json& value = need(key);
  if (!value.is_boolean()) refuse(key, concat("is ", value.type_name(), ", wanted true or false"));
  return value.get<bool>();
}

bool Fields::boolean(std::string_view key, bool fallback) {
  return has(key) ? boolean(key) : fallback;
}

std::vector<double> Fields::numbers(std::string_view key, size_t count) {
  const json& value = need(key);
  if (!value.is_array() || value.size() != count) {
    refuse(key, concat("is not a list of ", count, " numbers"));
  }
  std::vector<double> out;
  for (const json& item : value) {
    if (!item.is_number())
      refuse(key, concat("holds ", item.type_name(), ", wanted ", count, " numbers"));
    out.push_back(item.get<double>());
  }
  return out;
}

std::vector<std::string> Fields::strings(std::string_view key) {
  const json* value = find(key);
  if (value == nullptr) return {};
  std::vector<std::string> out;
  if (!value->is_array())
    refuse(key, concat("is ", value->type_name(), ", wanted a list of strings"));
  for (const json& item : *value) {
    if (!item.is_string()) refuse(key, concat("holds ", item.type_name(), ", wanted strings"));
    out.push_back(item.get<std::string>());
  }
  return out;
}

RelPath Fields::path(std::string_view key) {
  return within(concat(where_, ": '", key, "'"), [&] { return RelPath::parse(str(key)); });
}

void Fields::done() const {
  std::vector<std::string> known(asked_.begin(), asked_.end());
  for (const auto& item : object_.items()) {
    if (!asked_.contains(item.key())) {
      refuse(item.key(), concat("is not a known key; those are ", one_of(known)));
    }
  }
}

}  // namespace hub
