// The one door: what a path holds, which reader takes it, and where the splits come from.
#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "finetune/data/rows.h"

namespace hub {
namespace {

namespace fs = std::filesystem;

using Parts = std::array<std::optional<Rows>, 3>;  // train, validation, test

const std::set<std::string> data_extensions = {"csv", "tsv",   "jsonl", "ndjson", "json",
                                               "txt", "conll", "bio",   "iob",    "iob2"};

/// 0, 1, 2 for a name that says which split it is ("train", "ner-dev"); -1 otherwise.
int split_of(std::string_view name) {
  static const std::array<std::set<std::string, std::less<>>, 3> words = {{
      {"train", "training"},
      {"validation", "validate", "valid", "val", "dev"},
      {"test", "testing"},
  }};
  std::string stem = lower_ascii(name.substr(0, name.rfind('.')));
  std::replace_if(
      stem.begin(), stem.end(), [](char c) { return c == '-' || c == '.'; }, '_');
  int found = -1;
  for (std::string_view word : split(stem, '_')) {
    for (int i = 0; i < 3; ++i) {
      if (words[i].contains(word)) found = i;
    }
  }
  return found;
}

struct Entries {
  std::vector<std::string> files, folders;  ///< names, sorted, none hidden
  bool has(std::string_view name) const {
    return std::find(files.begin(), files.end(), name) != files.end();
  }
};

Entries entries_of(const std::string& folder) {
  Entries out;
  std::error_code error, ignored;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    std::string name = entry.path().filename().string();
    if (name.starts_with('.')) continue;
    (entry.is_directory(ignored) ? out.folders : out.files).push_back(std::move(name));
    if (out.files.size() + out.folders.size() > max_classes * 10) {
      fail(Code::refused, folder, ": too many files side by side");
    }
  }
  if (error) fail(Code::storage, "cannot read ", folder, ": ", error.message());
  std::sort(out.files.begin(), out.files.end());
  std::sort(out.folders.begin(), out.folders.end());
  return out;
}

bool is_image_list(std::string_view head) {
  std::string_view first = head.substr(0, head.find('\n'));
  const size_t gap = first.find_last_of(" \t");
  return gap != first.npos && has_picture_name(trim(first.substr(0, gap)));
}

Rows read_file_rows(const std::string& path, const DataOptions& options) {
  const std::string kind = extension(path);
  const MappedFile file = MappedFile::open(path);
  const std::string_view head = file.text().substr(0, 65536);
  if (kind == "json") return read_squad(path, options);
  if (kind == "csv" || kind == "jsonl" || kind == "ndjson") return read_table(path, options);
  if (kind == "gz" || path.ends_with("-ubyte")) {
    fail(Code::usage, path, " is packed or IDX; IDX is read from its folder, with its labels");
  }
  if (has_picture_name(path)) {
    fail(Code::usage, path, " is a picture; a folder with a sub-folder for each class is wanted");
  }
  const bool tagged = options.task == task_tagging || kind == "conll" || kind == "bio" ||
                      kind == "iob" || kind == "iob2" || head.find('\002') != head.npos;
  if (tagged) return read_tagged(path, options);
  if (kind == "tsv") return read_table(path, options);
  if (options.task == task_language) return read_lines(path, options);
  if (is_image_list(head)) return read_image_list(path, options);
  if (options.task.empty() && looks_tagged(head)) return read_tagged(path, options);
  const bool tabs = head.substr(0, head.find('\n')).find('\t') != head.npos;
  return tabs || !options.task.empty() ? read_table(path, options) : read_lines(path, options);
}

void take(Parts& parts, int at, const std::string& path, const DataOptions& options) {
  if (parts[at]) fail(Code::refused, path, ": another file is this split already; keep one");
  parts[at] = read_file_rows(path, options);
}

bool read_idx_folder(const std::string& folder, const Entries& in, Parts& parts) {
  for (const auto& [at, prefix] : {std::pair(0, "train"), std::pair(2, "t10k")}) {
    for (const char* packed : {"", ".gz"}) {
      const std::string images = concat(prefix, "-images-idx3-ubyte", packed);
      const std::string labels = concat(prefix, "-labels-idx1-ubyte", packed);
      if (parts[at] || !in.has(images)) continue;
      if (!in.has(labels)) fail(Code::not_found, folder, " has ", images, " but no ", labels);
      parts[at] = read_idx(concat(folder, "/", images), concat(folder, "/", labels));
    }
  }
  return parts[0] || parts[2];
}

/// Folders train/, val/, test/ whose content is folders of classes.
bool read_split_folders(const std::string& folder, const Entries& in, Parts& parts) {
  std::array<std::string, 3> found;
  for (const std::string& name : in.folders) {
    const int at = split_of(name);
    if (at < 0 || entries_of(concat(folder, "/", name)).folders.empty()) continue;
    if (!found[at].empty()) {
      fail(Code::refused, folder, ": both ", found[at], " and ", name, " name the same split");
    }
    found[at] = name;
  }
  if (found[0].empty()) return false;
  for (int at = 0; at < 3; ++at) {
    if (!found[at].empty()) parts[at] = read_class_folder(concat(folder, "/", found[at]));
  }
  return true;
}

Rows join(Rows a, Rows b) {
  a.rows.insert(a.rows.end(), std::make_move_iterator(b.rows.begin()),
                std::make_move_iterator(b.rows.end()));
  a.warnings.insert(a.warnings.end(), b.warnings.begin(), b.warnings.end());
  a.notes.insert(a.notes.end(), b.notes.begin(), b.notes.end());
  return a;
}

Parts read_folder(const std::string& folder, const DataOptions& options) {
  Parts parts;
  const Entries in = entries_of(folder);
  if (read_idx_folder(folder, in, parts)) return parts;
  std::vector<std::string> data;
  for (const std::string& name : in.files) {
    if (!data_extensions.contains(extension(name)) || name == "label_list.txt") continue;
    data.push_back(name);
    if (const int at = split_of(name); at >= 0) take(parts, at, concat(folder, "/", name), options);
  }
  if (parts[0]) return parts;
  if (parts[1] || parts[2]) {
    fail(Code::refused, folder, " has files for validation or test, but none for training");
  }
  if (read_split_folders(folder, in, parts)) return parts;
  if (options.task == task_language && !data.empty()) {
    for (const std::string& name : data) {
      Rows document = read_document(concat(folder, "/", name), options);
      parts[0] = parts[0] ? join(std::move(*parts[0]), std::move(document)) : std::move(document);
    }
    return parts;
  }
  if (in.folders.empty() && data.size() == 1) {
    take(parts, 0, concat(folder, "/", data[0]), options);
  } else if (!in.folders.empty()) {
    parts[0] = read_class_folder(folder);
  } else {
    fail(Code::refused, folder, " holds ", data.size(),
         " data files; wanted: one, or train/dev/test files, or a sub-folder for each class");
  }
  return parts;
}

}  // namespace

Splits read_data(const std::string& path, const DataOptions& options) {
  Parts parts;
  if (is_folder(path)) {
    parts = read_folder(path, options);
  } else {
    parts[0] = read_file_rows(path, options);
  }
  if (!parts[0]) fail(Code::refused, path, " has no training rows of its own");
  Splits out;
  std::vector<Rows*> given;
  for (auto& part : parts) {
    if (!part) continue;
    given.push_back(&*part);
    for (const std::string& note : part->notes) {  // what is said of one file holds for its kin
      if (std::find(out.notes.begin(), out.notes.end(), note) == out.notes.end()) {
        out.notes.push_back(note);
      }
    }
  }
  out.task = options.task.empty() ? parts[0]->task : options.task;
  out.found = parts[0]->found;
  const auto& items = parts[0]->rows;
  const bool pictures = !items.empty() && (!items[0].item.file.empty() || items[0].item.width > 0);
  if (!pictures) out.encoding = options.encoding;
  const std::vector<std::string> classes = classes_of(given);
  const bool has_validation = parts[1].has_value(), has_test = parts[2].has_value();
  if (has_test) out.test = index_rows(std::move(*parts[2]), classes);
  if (has_validation) {
    out.train = index_rows(std::move(*parts[0]), classes);
    out.validation = index_rows(std::move(*parts[1]), classes);
  } else {
    out.made = true;
    make_splits(index_rows(std::move(*parts[0]), classes), options.validation,
                has_test ? 0 : options.test, options.seed, out.task, out);
  }
  if (out.made && options.validation + options.test > 0) {
    const bool draws_test = !has_test && options.test > 0;
    out.notes.push_back(draws_test ? "the validation and test rows are drawn from the rows"
                                   : "the validation rows are drawn from the training rows");
  }
  if (out.test.classes.empty()) out.test.classes = classes;
  return out;
}

}  // namespace hub
