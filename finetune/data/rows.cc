// What the readers share: skipped lines, names of files, the order of classes, names to indices.
#include "finetune/data/rows.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "base/digest.h"
#include "base/error.h"
#include "base/text.h"

namespace hub {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// "-12", "007": what sorts as a number.
bool whole_number(std::string_view s) {
  if (s.starts_with('-')) s.remove_prefix(1);
  return !s.empty() && s.size() <= 18 && std::all_of(s.begin(), s.end(), is_digit);
}

/// The digits at `at` without leading zeros; `at` moves behind them.
std::string_view digits(std::string_view s, size_t& at) {
  const size_t begin = at;
  while (at < s.size() && is_digit(s[at])) ++at;
  std::string_view run = s.substr(begin, at - begin);
  while (run.size() > 1 && run[0] == '0') run.remove_prefix(1);
  return run;
}

}  // namespace

void Skips::add(std::string_view reason, size_t line) {
  if (strict_) fail(Code::refused, file_, ":", line, ": ", reason);
  auto it = lines_.find(reason);
  if (it == lines_.end()) it = lines_.emplace(reason, std::vector<size_t>()).first;
  it->second.push_back(line);
}

void Skips::report(std::vector<std::string>& warnings) const {
  constexpr size_t shown = 20;
  for (const auto& [reason, lines] : lines_) {
    const bool one = lines.size() == 1;
    std::string s = concat(file_, ": ", lines.size(), one ? " row" : " rows", " skipped, ", reason,
                           one ? ": line" : ": lines");
    for (size_t i = 0; i < std::min(lines.size(), shown); ++i) {
      s += concat(i == 0 ? " " : ", ", lines[i]);
    }
    if (lines.size() > shown) s += concat(" and ", lines.size() - shown, " more");
    warnings.push_back(std::move(s));
  }
}

std::string file_name(std::string_view path) {
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  return std::string(path.substr(path.rfind('/') + 1));
}

std::string extension(std::string_view path) {
  const std::string name = file_name(path);
  const size_t dot = name.rfind('.');
  return dot == name.npos || dot == 0 ? "" : lower_ascii(std::string_view(name).substr(dot + 1));
}

bool has_picture_name(std::string_view path) {
  static const std::set<std::string> names = {"jpg", "jpeg", "png", "webp", "bmp", "gif"};
  return names.contains(extension(path));
}

bool natural_less(std::string_view a, std::string_view b) {
  size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    if (is_digit(a[i]) && is_digit(b[j])) {
      const std::string_view x = digits(a, i), y = digits(b, j);
      if (x.size() != y.size()) return x.size() < y.size();
      if (x != y) return x < y;
    } else if (a[i] != b[j]) {
      return static_cast<uint8_t>(a[i]) < static_cast<uint8_t>(b[j]);
    } else {
      ++i, ++j;
    }
  }
  const size_t left_a = a.size() - i, left_b = b.size() - j;
  return left_a != left_b ? left_a < left_b : a < b;
}

std::vector<std::string> classes_of(const std::vector<Rows*>& parts) {
  std::vector<std::string> classes;
  std::set<std::string, std::less<>> fixed, others;
  for (const Rows* part : parts) {
    for (const std::string& name : part->classes) {
      if (fixed.insert(name).second) classes.push_back(name);
    }
  }
  for (const Rows* part : parts) {
    for (const Row& row : part->rows) {
      for (const std::string& name : row.labels) {
        if (!fixed.contains(name)) others.insert(name);
      }
      if (fixed.size() + others.size() > max_classes) {
        fail(Code::refused, row.item.source, ": more than ", max_classes,
             " different labels; is this the column of labels (or is the task regression)?");
      }
    }
  }
  std::vector<std::string> sorted(others.begin(), others.end());
  if (std::all_of(sorted.begin(), sorted.end(), whole_number)) {
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const auto& a, const auto& b) { return std::stoll(a) < std::stoll(b); });
  }
  classes.insert(classes.end(), sorted.begin(), sorted.end());
  return classes;
}

Dataset index_rows(Rows rows, const std::vector<std::string>& classes) {
  std::unordered_map<std::string_view, int32_t> index;
  for (size_t i = 0; i < classes.size(); ++i) index[classes[i]] = static_cast<int32_t>(i);
  Dataset data;
  data.classes = classes;
  data.warnings = std::move(rows.warnings);
  data.items.reserve(rows.rows.size());
  for (Row& row : rows.rows) {
    for (const std::string& name : row.labels) row.item.labels.push_back(index.at(name));
    data.items.push_back(std::move(row.item));
  }
  data.digest = dataset_digest(data);
  return data;
}

std::string content_key(const Item& item) {
  if (!item.digest.empty()) return item.digest;
  Sha256 sha;
  const auto add = [&](std::string_view part) {
    sha.add(concat(part.size(), ":"));
    sha.add(part);
  };
  add(item.text);
  add(item.text_b);
  add(item.file);
  for (const std::string& token : item.tokens) add(token);
  if (!item.gray.empty()) {
    add(concat(item.width, "x", item.height));
    sha.add(std::as_bytes(std::span(item.gray)));
  }
  return sha.finish().hex();
}

std::string dataset_digest(const Dataset& data) {
  Sha256 sha;
  for (const std::string& name : data.classes) sha.add(concat(name.size(), ":", name));
  for (const Item& item : data.items) {
    std::string line = content_key(item);
    for (int32_t label : item.labels) line += concat(" ", label);
    sha.add(concat(line, " ", item.value, " ", item.start, " ", item.end, "\n"));
  }
  return sha.finish().hex();
}

}  // namespace hub
