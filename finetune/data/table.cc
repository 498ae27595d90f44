// Tables to rows of a data set: CSV, TSV and JSONL with any column names.
#include "finetune/data/table.h"

#include <charconv>
#include <cmath>
#include <set>

#include "base/error.h"
#include "base/text.h"

namespace hub {
namespace {

/// By the name of the file; a CSV without a comma in its first line may have ; or tabs.
char separator_of(std::string_view text, const std::string& file, std::vector<std::string>& notes) {
  if (extension(file) != "csv") return '\t';
  const std::string_view first = text.substr(0, text.find('\n'));
  if (first.find(',') != first.npos) return ',';
  for (const auto& [c, name] : {std::pair(';', "';'"), std::pair('\t', "a tab")}) {
    if (first.find(c) == first.npos) continue;
    notes.push_back(concat("the columns are separated by ", name));
    return c;
  }
  return ',';
}

std::string between_labels(const Table& table, int column, const DataOptions& options) {
  if (!options.table.separator.empty()) return options.table.separator;
  if (!table.separator.empty()) return table.separator;
  for (const char* s : {"|", ";", ","}) {
    for (const TableRow& row : table.rows) {
      if (row.cells.size() > static_cast<size_t>(column) &&
          row.cells[column].find(s) != std::string::npos) {
        return s;
      }
    }
  }
  return " ";
}

/// The names in one cell, each once.
std::vector<std::string> label_list(std::string_view cell, std::string_view separator) {
  std::vector<std::string> names;
  std::set<std::string_view> seen;
  while (true) {
    const size_t end = cell.find(separator);
    const std::string_view name = trim(cell.substr(0, end));
    if (!name.empty() && seen.insert(name).second) names.emplace_back(name);
    if (end == cell.npos) return names;
    cell.remove_prefix(end + separator.size());
  }
}

struct Reader {
  const Table& table;
  Layout layout;
  bool regression = false, multi_label = false;
  std::string separator = {};

  std::string_view cell(const TableRow& row, int column) const {
    if (column < 0 || static_cast<size_t>(column) >= row.cells.size()) return {};
    return row.cells[column];
  }

  std::string lacking(int column) const {
    return concat("'", printable(table.columns[column]), "' is blank or missing");
  }

  /// Why the row cannot be used; empty: it was read.
  std::string read(const TableRow& from, Row& to) const {
    for (size_t i = table.columns.size(); i < from.cells.size(); ++i) {
      if (!trim(from.cells[i]).empty()) {
        return concat("more than ", table.columns.size(), " fields");
      }
    }
    for (const int column : {layout.text, layout.text_b}) {
      if (column >= 0 && trim(cell(from, column)).empty()) return lacking(column);
    }
    to.item.text = cell(from, layout.text);
    to.item.text_b = cell(from, layout.text_b);
    to.item.group = cell(from, layout.group);
    if (layout.labels.size() > 1) return read_columns(from, to);
    if (layout.labels.empty()) return "";
    const int column = layout.labels[0];
    const std::string_view label = trim(cell(from, column));
    if (multi_label) {
      to.labels = label_list(label, separator);
      return "";
    }
    if (label.empty()) return lacking(column);
    if (!regression) {
      to.labels = {std::string(label)};
      return "";
    }
    const auto [end, error] =
        std::from_chars(label.data(), label.data() + label.size(), to.item.value);
    if (error != std::errc() || end != label.data() + label.size() ||
        !std::isfinite(to.item.value)) {
      return concat("'", printable(table.columns[column]), "' is not a number");
    }
    return "";
  }

  std::string read_columns(const TableRow& from, Row& to) const {
    for (const int column : layout.labels) {
      const std::string_view value = trim(cell(from, column));
      if (value.empty()) return lacking(column);
      if (value == "1") {
        to.labels.push_back(table.columns[column]);
      } else if (value != "0") {
        return concat("'", printable(table.columns[column]), "' is neither 0 nor 1");
      }
    }
    return "";
  }
};

std::string task_of(const Layout& layout, const DataOptions& options) {
  if (!options.task.empty()) return options.task;
  if (layout.labels.size() > 1) return "multi-label-text-classification";
  return layout.text_b >= 0 ? "sentence-pairs" : "text-classification";
}

}  // namespace

Rows read_table(const std::string& path, const DataOptions& options) {
  const std::string file = file_name(path), kind = extension(path);
  const bool jsonl = kind == "jsonl" || kind == "ndjson";
  const std::string text = read_text(path, options.encoding);
  Rows out;
  Skips skips(file, options.strict);
  Table table;
  if (jsonl) {
    table = parse_jsonl(text, file, skips);
  } else {
    const char separator = separator_of(text, file, out.notes);
    table.rows = parse_delimited(text, separator, kind == "csv", file);
  }
  Reader reader = {table, table_layout(table, options, file, out.notes)};
  const Layout& layout = reader.layout;
  out.task = task_of(layout, options);
  reader.regression = options.task == task_regression;
  reader.multi_label =
      layout.labels.size() == 1 &&
      (options.task.find("multi-label") != std::string::npos || !options.table.separator.empty());
  if (reader.multi_label) {
    reader.separator = between_labels(table, layout.labels[0], options);
    if (options.task.empty()) out.task = "multi-label-text-classification";
  }
  if (layout.labels.size() > 1) {
    for (int i : layout.labels) out.classes.push_back(table.columns[i]);
  }
  for (TableRow& from : table.rows) {
    Row row;
    row.item.source = concat(file, ":", from.line);
    const std::string why = reader.read(from, row);
    if (why.empty()) {
      out.rows.push_back(std::move(row));
    } else {
      skips.add(why, from.line);
    }
    from.cells.clear();
  }
  skips.report(out.warnings);
  out.found = concat(jsonl           ? "a JSONL table"
                     : kind == "csv" ? "a CSV table"
                                     : "a TSV table",
                     " (", file, ")");
  return out;
}

}  // namespace hub
