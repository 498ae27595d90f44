// Which column of a table is the text and which the label: as named, or as people call them.
#include <algorithm>
#include <charconv>
#include <span>

#include "base/error.h"
#include "base/text.h"
#include "finetune/data/table.h"

namespace hub {
namespace {

using Names = std::span<const std::string_view>;

constexpr std::string_view text_names[] = {
    "text",      "text_a",  "sentence", "sentence1",   "review",  "content", "comment", "query",
    "question1", "premise", "title",    "review_body", "message", "tweet",   "document"};
constexpr std::string_view text_b_names[] = {"text_b",    "sentence2", "question2", "hypothesis",
                                             "text_pair", "response",  "positive",  "title2"};
constexpr std::string_view label_names[] = {"label",      "labels",    "class", "category",
                                            "stars",      "rating",    "score", "target",
                                            "similarity", "sentiment", "tag",   "y"};
constexpr std::string_view group_names[] = {"group", "group_id"};

int find_exact(const Table& table, std::string_view name) {
  const auto it = std::find(table.columns.begin(), table.columns.end(), name);
  return it == table.columns.end() ? -1 : static_cast<int>(it - table.columns.begin());
}

int find_known(const Table& table, Names names) {
  for (std::string_view name : names) {
    for (size_t i = 0; i < table.columns.size(); ++i) {
      if (lower_ascii(trim(table.columns[i])) == name) return static_cast<int>(i);
    }
  }
  return -1;
}

int need(const Table& table, const std::string& name, const std::string& file) {
  const int at = find_exact(table, name);
  if (at >= 0) return at;
  std::vector<std::string> names = table.columns;
  if (names.size() > 20) names = nearest(name, names, 5);
  fail(Code::refused, file, " has no column '", printable(name), "'; wanted ",
       printable(one_of(names)));
}

bool is_number(std::string_view s) {
  s = trim(s);
  double value = 0;
  const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), value);
  return error == std::errc() && end == s.data() + s.size();
}

bool names_columns(const TableOptions& o) {
  return !(o.text.empty() && o.text_b.empty() && o.group.empty() && o.labels.empty());
}

/// Whether the first row names the columns: a name that is known, or words over numbers only.
bool has_header(const Table& table) {
  Table first;
  first.columns = table.rows[0].cells;
  if (find_known(first, text_names) >= 0 || find_known(first, label_names) >= 0) return true;
  const size_t last = first.columns.size() - 1;
  if (is_number(first.columns[last]) || table.rows.size() < 3) return false;
  return std::all_of(table.rows.begin() + 1, table.rows.end(), [&](const TableRow& row) {
    return row.cells.size() > last && is_number(row.cells[last]);
  });
}

void name_columns(Table& table, const DataOptions& options, const std::string& file,
                  std::vector<std::string>& notes) {
  if (names_columns(options.table) || has_header(table)) {
    table.columns = std::move(table.rows[0].cells);
    for (std::string& name : table.columns) name = trim(name);
    table.rows.erase(table.rows.begin());
    return;
  }
  const size_t width = table.rows[0].cells.size();
  const bool pair_only = options.task == task_embedding && width == 2;
  if (width == 1) table.columns = {"text_a"};
  if (width == 2) table.columns = {"text_a", pair_only ? "text_b" : "label"};
  if (width == 3) table.columns = {"text_a", "text_b", "label"};
  if (width > 3) {
    fail(Code::refused, file, " has ", width,
         " columns and no header that is known; say which hold the text and the label with --text "
         "and --label");
  }
  std::string names;
  for (const std::string& name : table.columns) names += (names.empty() ? "" : ", ") + name;
  notes.push_back(concat("no header; the columns are taken for ", names));
}

bool zero_or_one(const Table& table, int column) {
  return std::all_of(table.rows.begin(), table.rows.end(), [&](const TableRow& row) {
    if (row.cells.size() <= static_cast<size_t>(column)) return true;
    const std::string_view s = trim(row.cells[column]);
    return s.empty() || s == "0" || s == "1";
  });
}

void guess_labels(const Table& table, Layout& layout, const std::string& file,
                  std::vector<std::string>& notes) {
  const int known = find_known(table, label_names);
  if (known >= 0 && known != layout.text && known != layout.text_b) {
    layout.labels = {known};
  } else {
    for (int i = 0; i < static_cast<int>(table.columns.size()); ++i) {
      if (i != layout.text && i != layout.text_b && i != layout.group) layout.labels.push_back(i);
    }
    if (layout.labels.size() > 1 && !table.rows.empty()) {
      for (int i : layout.labels) {
        if (!zero_or_one(table, i)) {
          fail(Code::refused, file, ": which column is the label? Say it with --label: ",
               printable(one_of(table.columns)));
        }
      }
    }
  }
  if (layout.labels.empty()) {
    fail(Code::refused, file, " has no column for labels beside '",
         printable(table.columns[layout.text]), "'; text and label are wanted, separated by ",
         extension(file) == "csv" ? "a comma" : "a tab");
  }
  std::string names;
  for (int i : layout.labels)
    names += concat(names.empty() ? "" : ", ", "'", table.columns[i], "'");
  const bool one = layout.labels.size() == 1;
  notes.push_back(concat(one ? "column " : "columns ", printable(names),
                         one ? " is taken for the label" : " are taken for the labels"));
}

}  // namespace

Layout table_layout(Table& table, const DataOptions& options, const std::string& file,
                    std::vector<std::string>& notes) {
  Layout layout;
  const bool ordered = table.columns.empty();  // members of JSON objects have no order
  if (table.columns.empty() && !table.rows.empty()) name_columns(table, options, file, notes);
  if (table.columns.empty()) return layout;
  const TableOptions& o = options.table;
  for (const std::string& name : o.labels) layout.labels.push_back(need(table, name, file));
  if (ordered) std::sort(layout.labels.begin(), layout.labels.end());
  if (!o.text_b.empty()) layout.text_b = need(table, o.text_b, file);
  if (!o.group.empty()) layout.group = need(table, o.group, file);
  if (!o.text.empty()) {
    layout.text = need(table, o.text, file);
  } else {
    layout.text = find_known(table, text_names);
    for (int i = 0; layout.text < 0 && i < static_cast<int>(table.columns.size()); ++i) {
      const bool label = std::count(layout.labels.begin(), layout.labels.end(), i) > 0;
      if (!label && i != layout.text_b && i != layout.group) layout.text = i;
    }
    if (layout.text < 0) fail(Code::refused, file, " has no column for the text beside the label");
    notes.push_back(
        concat("column '", printable(table.columns[layout.text]), "' is taken for the text"));
  }
  if (o.text_b.empty() && o.text.empty()) {
    layout.text_b = find_known(table, text_b_names);
    if (layout.text_b == layout.text) layout.text_b = -1;
    if (layout.text_b >= 0) {
      notes.push_back(concat("column '", printable(table.columns[layout.text_b]),
                             "' is taken for the second text"));
    }
  }
  if (o.group.empty()) {
    layout.group = find_known(table, group_names);
    if (layout.group >= 0 && std::count(layout.labels.begin(), layout.labels.end(), layout.group)) {
      layout.group = -1;
    }
  }
  const bool wants_labels = options.task != task_embedding && options.task != task_language;
  if (layout.labels.empty() && wants_labels) guess_labels(table, layout, file, notes);
  return layout;
}

}  // namespace hub
