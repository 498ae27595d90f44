// Metrics as lines for a terminal.
#include "base/text.h"

#include <algorithm>

#include "base/error.h"
#include "finetune/metrics/metrics.h"
#include "finetune/metrics/number.h"

namespace hub {
namespace {

/// The first column to the left, the others to the right, two spaces between.
void append_table(std::string& text, const std::vector<std::vector<std::string>>& rows) {
  auto width = [](const std::string& s) { return decode_utf8(s).size(); };
  std::vector<size_t> widths(rows[0].size());
  for (const auto& row : rows)
    for (size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], width(row[c]));
  for (const auto& row : rows) {
    text += row[0];
    text.append(widths[0] - width(row[0]), ' ');
    for (size_t c = 1; c < row.size(); ++c) {
      text.append(widths[c] - width(row[c]) + 2, ' ');
      text += row[c];
    }
    text += '\n';
  }
}

}  // namespace

std::string to_text(const Metrics& metrics) {
  std::string text;
  std::vector<std::vector<std::string>> rows;
  for (const auto& [name, value] : metrics.values) rows.push_back({name, number_text(value)});
  if (!rows.empty()) append_table(text, rows);
  if (!metrics.classes.empty()) {
    text += '\n';
    rows = {{"class", "precision", "recall", "f1", "rows", "predicted"}};
    for (const ClassRow& c : metrics.classes) {
      rows.push_back({printable(c.name), fixed_text(c.precision), fixed_text(c.recall),
                      fixed_text(c.f1), count_text(c.support), count_text(c.predicted)});
    }
    append_table(text, rows);
  }
  for (const std::string& warning : metrics.warnings)
    text += concat("warning: ", printable(warning), "\n");
  return text;
}

}  // namespace hub
