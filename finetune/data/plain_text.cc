// Plain text for language models: a file as its lines, or as one document.
#include "base/error.h"
#include "base/text.h"
#include "finetune/data/rows.h"

namespace hub {

Rows read_lines(const std::string& path, const DataOptions& options) {
  const std::string text = read_text(path, options.encoding), file = file_name(path);
  Rows out;
  size_t number = 0;
  for (std::string_view line : lines(text)) {
    ++number;
    if (trim(line).empty()) continue;
    if (line.size() > max_row) {
      fail(Code::refused, file, ":", number, ": a line of ", line.size(), " bytes; at most ",
           max_row, " are read");
    }
    Row row;
    row.item.source = concat(file, ":", number);
    row.item.text = line;
    out.rows.push_back(std::move(row));
  }
  out.task = task_language;
  out.found = concat("lines of plain text (", file, ")");
  return out;
}

Rows read_document(const std::string& path, const DataOptions& options) {
  Rows out;
  Row row;
  row.item.source = file_name(path);
  row.item.text = read_text(path, options.encoding);
  if (!trim(row.item.text).empty()) out.rows.push_back(std::move(row));
  out.task = task_language;
  out.found = concat("documents of plain text (", file_name(path), ")");
  return out;
}

}  // namespace hub
