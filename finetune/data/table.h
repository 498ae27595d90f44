// A table as its file has it, before anybody says which column is the text. Private to the folder.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "finetune/data/rows.h"

namespace hub {

struct TableRow {
  size_t line = 0;  ///< where it begins
  std::vector<std::string> cells;
};

struct Table {
  std::vector<std::string> columns;  ///< names; empty: not known (no header looked for yet)
  std::vector<TableRow> rows;
  std::string separator;  ///< between the labels of one cell, where the format itself has lists
};

/// Rows of cells. With quotes: as RFC 4180 has them, a cell may hold separators and line ends;
/// without, a quote is a character as any other. Empty lines are no rows. Throws refused: a quote
/// that never closes, rows over the limits.
std::vector<TableRow> parse_delimited(std::string_view text, char separator, bool quotes,
                                      const std::string& file);

/// JSONL: an object a line, its members are the columns (sorted by name: they have no order).
Table parse_jsonl(std::string_view text, const std::string& file, Skips& skips);

/// Which column holds what; -1: none.
struct Layout {
  int text = -1, text_b = -1, group = -1;
  std::vector<int> labels;
};

/// By the options, or guessed; takes the header off the rows. Notes what was guessed. Throws
/// refused when a column is not there or cannot be guessed.
Layout table_layout(Table& table, const DataOptions& options, const std::string& file,
                    std::vector<std::string>& notes);

}  // namespace hub
