// CSV and TSV into rows of cells.
#include "base/error.h"
#include "finetune/data/table.h"

namespace hub {
namespace {

class Parser {
 public:
  Parser(std::string_view text, char separator, bool quotes, const std::string& file)
      : text_(text), separator_(separator), quotes_(quotes), file_(file) {}

  std::vector<TableRow> rows() {
    std::vector<TableRow> out;
    while (at_ < text_.size()) {
      const size_t begin = at_;
      TableRow row = {line_, {}};
      while (cell(row)) {
      }
      if (at_ - begin > max_row) {
        fail(Code::refused, file_, ":", row.line, ": a row of ", at_ - begin, " bytes; at most ",
             max_row, " are read");
      }
      if (row.cells.size() == 1 && blank(row.cells[0])) continue;
      if (out.size() == max_rows) fail(Code::refused, file_, ": more than ", max_rows, " rows");
      out.push_back(std::move(row));
    }
    return out;
  }

 private:
  static bool blank(std::string_view s) { return s.find_first_not_of(" \t\r") == s.npos; }

  /// Reads one cell and what ends it; whether the row goes on.
  bool cell(TableRow& row) {
    if (row.cells.size() == 4096) fail(Code::refused, file_, ":", row.line, ": over 4096 columns");
    std::string value;
    if (quotes_ && at_ < text_.size() && text_[at_] == '"') value = quoted(row.line);
    const size_t begin = at_;
    while (at_ < text_.size() && text_[at_] != separator_ && text_[at_] != '\n') ++at_;
    value += text_.substr(begin, at_ - begin);
    const bool more = at_ < text_.size() && text_[at_] == separator_;
    if (!more) {
      if (value.ends_with('\r')) value.pop_back();
      ++line_;
    }
    ++at_;
    row.cells.push_back(std::move(value));
    return more;
  }

  std::string quoted(size_t row_line) {
    const size_t opened = line_;
    std::string value;
    ++at_;
    while (true) {
      const size_t quote = text_.find('"', at_);
      if (quote == text_.npos || quote - at_ > max_row) {
        fail(Code::refused, file_, ":", opened, ": the quote in row ", row_line,
             " never closes; write a quote inside a cell twice, or save as TSV, which has none");
      }
      for (; at_ < quote; ++at_) {
        line_ += text_[at_] == '\n';
        value += text_[at_];
      }
      ++at_;
      if (at_ >= text_.size() || text_[at_] != '"') return value;
      value += '"';
      ++at_;
    }
  }

  std::string_view text_;
  char separator_;
  bool quotes_;
  const std::string& file_;
  size_t at_ = 0, line_ = 1;
};

}  // namespace

std::vector<TableRow> parse_delimited(std::string_view text, char separator, bool quotes,
                                      const std::string& file) {
  return Parser(text, separator, quotes, file).rows();
}

}  // namespace hub
