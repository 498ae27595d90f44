// Pictures in a folder of classes, or named by a list file.
#include <algorithm>
#include <filesystem>

#include "base/digest.h"
#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "finetune/data/rows.h"

namespace hub {
namespace {

namespace fs = std::filesystem;

constexpr size_t max_depth = 16;

std::string picture_digest(const std::string& path) {
  return Sha256::of(MappedFile::open(path).bytes()).hex();
}

/// What lies below a class's folder.
struct Found {
  std::vector<std::string> pictures;
  size_t hidden = 0, others = 0;
};

void collect(const fs::path& folder, size_t depth, Found& found) {
  if (depth > max_depth) {
    fail(Code::refused, folder.string(), ": folders nested deeper than ", max_depth);
  }
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    std::error_code ignored;
    if (name.starts_with('.') || name == "__MACOSX") {
      ++found.hidden;
    } else if (entry.is_directory(ignored)) {
      if (!entry.is_symlink(ignored)) collect(entry.path(), depth + 1, found);
    } else if (entry.is_regular_file(ignored) && has_picture_name(name)) {
      if (found.pictures.size() == max_rows) {
        fail(Code::refused, folder.string(), ": more than ", max_rows, " pictures");
      }
      found.pictures.push_back(entry.path().string());
    } else {
      ++found.others;
    }
  }
  if (error) fail(Code::storage, "cannot read ", folder.string(), ": ", error.message());
}

/// The name that a label of a list file stands for: itself, or the line of label_list.txt.
std::string label_name(std::string_view label, const std::vector<std::string>& names,
                       std::string& why) {
  if (names.empty() || std::find(names.begin(), names.end(), label) != names.end()) {
    return std::string(label);
  }
  const bool digits =
      !label.empty() && label.size() < 9 && label.find_first_not_of("0123456789") == label.npos;
  if (digits && std::stoul(std::string(label)) < names.size()) {
    return names[std::stoul(std::string(label))];
  }
  why = "the label is not in label_list.txt";
  return "";
}

std::vector<std::string> label_names(const std::string& folder, const std::string& encoding) {
  std::vector<std::string> names;
  const std::string path = folder + "/label_list.txt";
  if (!exists(path)) return names;
  const std::string text = read_text(path, encoding);
  for (std::string_view line : lines(text)) {
    if (!trim(line).empty()) names.emplace_back(trim(line));
  }
  if (names.size() > max_classes) fail(Code::refused, path, ": more than ", max_classes, " labels");
  return names;
}

/// Reads "path label"; why it cannot be used, or "".
std::string read_line(std::string_view line, const std::string& folder, bool multi_label,
                      const std::vector<std::string>& names, Row& row) {
  size_t gap = line.find('\t');
  if (gap == line.npos) gap = line.find_last_of(' ');
  if (gap == line.npos) return "'path label' is wanted";
  std::string_view path = trim(line.substr(0, gap));
  while (path.starts_with("./")) path.remove_prefix(2);
  try {
    row.item.file = folder + "/" + RelPath::parse(path).str();
  } catch (const Error& e) {
    return "the picture is not below the list's folder";
  }
  std::string why;
  const std::string_view labels = trim(line.substr(gap));
  for (std::string_view label : multi_label ? split(labels, ',') : std::vector{labels}) {
    row.labels.push_back(label_name(trim(label), names, why));
  }
  if (!why.empty()) return why;
  if (!exists(row.item.file)) return "there is no such picture";
  row.item.source = row.item.file;
  row.item.digest = picture_digest(row.item.file);
  return "";
}

}  // namespace

Rows read_class_folder(const std::string& folder) {
  std::vector<std::string> names;
  size_t hidden = 0, others = 0;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    std::error_code ignored;
    if (name.starts_with('.') || name == "__MACOSX") {
      ++hidden;
    } else if (entry.is_directory(ignored)) {
      if (!valid_utf8(name)) {
        fail(Code::refused, printable(entry.path().string()), " is not a name in UTF-8; rename it");
      }
      names.push_back(name);
    } else {
      ++others;
    }
  }
  if (error) fail(Code::storage, "cannot read ", folder, ": ", error.message());
  std::sort(names.begin(), names.end(), natural_less);
  Rows out;
  for (const std::string& name : names) {
    Found found;
    collect(fs::path(folder) / name, 1, found);
    hidden += found.hidden;
    others += found.others;
    if (found.pictures.empty()) {
      out.warnings.push_back(concat(printable(name), " has no images and is no class"));
      continue;
    }
    std::sort(found.pictures.begin(), found.pictures.end(), natural_less);
    out.classes.push_back(name);
    if (out.classes.size() > max_classes) {
      fail(Code::refused, folder, ": more than ", max_classes, " classes");
    }
    for (std::string& path : found.pictures) {
      Row row;
      row.item.source = path;
      row.item.digest = picture_digest(path);
      row.item.file = std::move(path);
      row.labels = {name};
      out.rows.push_back(std::move(row));
    }
  }
  if (hidden + others > 0) {
    out.notes.push_back(concat(file_name(folder), ": left aside: ", hidden, " hidden, ", others,
                               " that are no pictures"));
  }
  out.task = "image-classification";
  out.found = concat("a folder of classes (", file_name(folder), ")");
  return out;
}

Rows read_image_list(const std::string& path, const DataOptions& options) {
  const size_t slash = path.rfind('/');
  const std::string folder = slash == path.npos ? "." : path.substr(0, slash);
  const bool multi_label = options.task.find("multi-label") != std::string::npos;
  Rows out;
  Skips skips(file_name(path), options.strict);
  out.classes = label_names(folder, options.encoding);
  const std::string text = read_text(path, options.encoding);
  size_t number = 0;
  for (std::string_view line : lines(text)) {
    ++number;
    if (trim(line).empty()) continue;
    Row row;
    const std::string why = read_line(trim(line), folder, multi_label, out.classes, row);
    if (why.empty()) {
      out.rows.push_back(std::move(row));
    } else {
      skips.add(why, number);
    }
  }
  skips.report(out.warnings);
  out.task = options.task.empty() ? "image-classification" : options.task;
  out.found = concat("a list of images (", file_name(path), ")");
  return out;
}

}  // namespace hub
