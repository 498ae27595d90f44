// JSONL into a table: the strict parser for each line, members by name.
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text.h"
#include "finetune/data/table.h"
#include "hub/manifest.h"

namespace hub {
namespace {

constexpr std::string_view between = "\x1f";  // the unit separator of ASCII

std::string cell_text(const json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return std::string(1, value.get<bool>() ? '1' : '0');
  if (value.is_number()) return value.dump();
  if (!value.is_array()) return "";
  std::string s;
  for (const json& member : value) {
    if (!s.empty()) s += between;
    s += cell_text(member);
  }
  return s;
}

}  // namespace

Table parse_jsonl(std::string_view text, const std::string& file, Skips& skips) {
  Table table;
  std::map<std::string, size_t> index;
  std::vector<std::pair<size_t, json>> objects;
  size_t number = 0;
  for (std::string_view line : lines(text)) {
    ++number;
    if (trim(line).empty()) continue;
    if (line.size() > max_row) {
      fail(Code::refused, file, ":", number, ": a row of ", line.size(), " bytes; at most ",
           max_row, " are read");
    }
    json value;
    try {
      value = parse_json(line, max_row, 8);
    } catch (const Error&) {
      skips.add("not valid JSON", number);
      continue;
    }
    if (!value.is_object()) {
      skips.add("not a JSON object", number);
      continue;
    }
    for (const auto& [key, member] : value.items()) {
      index.emplace(key, 0);
      if (member.is_array()) table.separator = std::string(between);
    }
    if (index.size() > 4096) fail(Code::refused, file, ":", number, ": over 4096 different names");
    objects.emplace_back(number, std::move(value));
  }
  for (auto& [name, at] : index) {
    at = table.columns.size();
    table.columns.push_back(name);
  }
  for (auto& [line, object] : objects) {
    TableRow row = {line, std::vector<std::string>(table.columns.size())};
    for (const auto& [key, member] : object.items()) row.cells[index[key]] = cell_text(member);
    object = nullptr;
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace hub
