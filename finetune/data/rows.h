// What the readers of finetune/data give: rows whose labels are still names. Private to the folder.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "finetune/data/data.h"

namespace hub {

struct Row {
  Item item;                        ///< without labels
  std::vector<std::string> labels;  ///< names, in the order of Item::labels
};

/// One file or folder, read.
struct Rows {
  std::vector<Row> rows;
  std::vector<std::string> classes;  ///< in an order that the source gives; empty: to be sorted
  std::string task, found;
  std::vector<std::string> notes, warnings;
};

/// Lines that could not be used, counted by reason. When strict the first one is refused.
class Skips {
 public:
  Skips(std::string file, bool strict) : file_(std::move(file)), strict_(strict) {}
  void add(std::string_view reason, size_t line);
  /// One sentence a reason, the first lines by number.
  void report(std::vector<std::string>& warnings) const;

 private:
  std::string file_;
  bool strict_;
  std::map<std::string, std::vector<size_t>, std::less<>> lines_;
};

inline constexpr uint64_t max_data_file = uint64_t{1} << 30;  ///< bytes of one text file
inline constexpr size_t max_row = size_t{1} << 20;            ///< bytes of one row
inline constexpr size_t max_rows = 50'000'000;
inline constexpr size_t max_classes = 100'000;

/// A text file as UTF-8 without byte order mark. Throws refused: not of this encoding, naming the
/// first bad byte, its line and --encoding; a zero byte; too large.
std::string read_text(const std::string& path, const std::string& encoding);

std::string file_name(std::string_view path);               ///< the last part
std::string extension(std::string_view path);               ///< in lower case, without the dot
bool has_picture_name(std::string_view path);               ///< by its extension
bool natural_less(std::string_view a, std::string_view b);  ///< "2" before "10", by code point else

Rows read_table(const std::string& path, const DataOptions& options);
Rows read_class_folder(const std::string& folder);
Rows read_image_list(const std::string& path, const DataOptions& options);
Rows read_tagged(const std::string& path, const DataOptions& options);
Rows read_idx(const std::string& images, const std::string& labels);
Rows read_lines(const std::string& path, const DataOptions& options);
Rows read_document(const std::string& path, const DataOptions& options);
Rows read_squad(const std::string& path, const DataOptions& options);

/// Whether the beginning of a text looks like tokens with their tags.
bool looks_tagged(std::string_view head);

/// The classes of all parts: as the sources order them, whole numbers as numbers, other names by
/// code point. Throws refused over max_classes.
std::vector<std::string> classes_of(const std::vector<Rows*>& parts);
/// Names become indices.
Dataset index_rows(Rows rows, const std::vector<std::string>& classes);

}  // namespace hub
