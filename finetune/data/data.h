// Data sets from files: reading of what people have (tables, folders of classes, lists, tagged
// text, IDX, SQuAD, plain text), splits, and the check that says before training what is wrong.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/progress.h"
#include "finetune/data/dataset.h"

namespace hub {

/// Columns of a table by name; what is empty is guessed, and the guess is said in Splits::notes.
struct TableOptions {
  std::string text, text_b, group;
  /// One column of labels; several: multi-label, each 0 or 1, the classes in the order of the
  /// columns (of JSONL, whose members have no order: as named here).
  std::vector<std::string> labels;
  /// Between the labels of a multi-label column; empty: the first of | ; , that occurs, or blanks.
  std::string separator;
};

/// Names of tasks that change how data is read. Any other name is a classification; one that
/// contains "multi-label" takes any number of labels a row.
inline constexpr std::string_view task_regression = "regression";
inline constexpr std::string_view task_tagging = "sequence-labelling";
inline constexpr std::string_view task_embedding = "sentence-embedding";
inline constexpr std::string_view task_reading = "reading-comprehension";
inline constexpr std::string_view task_language = "language-model";

struct DataOptions {
  std::string task;  ///< empty: as the data looks
  TableOptions table;
  std::string encoding = "utf-8";       ///< of text files: see encodings()
  bool strict = false;                  ///< a row that cannot be used is refused, not skipped
  double validation = 0.1, test = 0.1;  ///< shares, where the data brings no splits of its own
  uint64_t seed = 1;
};

struct Splits {
  Dataset train, validation, test;  ///< all with the same classes
  std::string task;                 ///< of the options, or what the data looks like
  std::string found;                ///< in words, what the path was taken for
  std::vector<std::string> notes;   ///< guesses and what was left aside; nothing wrong with it
  bool made = false;                ///< drawn here, not given by the data
  std::string encoding;             ///< of the text files; empty: pictures
};

/// Reads a file or a folder. Splits that the data has (train/dev/test files, folders or lists) are
/// used: without validation rows of its own these are taken from the training rows. Otherwise all
/// three are made. Rows that cannot be used are skipped and named in the warnings. Throws
/// not_found; refused: unreadable as what it seems to be, wrong encoding, no such column,
/// over the limits; usage: bad options. A data set without rows is no error here: see obstacles().
Splits read_data(const std::string& path, const DataOptions& options = {});

/// Draws splits: the same on every machine for the same rows, shares and seed. Every class keeps
/// a training row; rows of one group and exact duplicates stay together; classes are spread evenly.
/// A text for a language model is cut, not shuffled. Warnings go to out.train.
void make_splits(Dataset all, double validation, double test, uint64_t seed, std::string_view task,
                 Splits& out);

/// Equal for rows with the same content, whatever their labels: a sha256 in hex.
std::string content_key(const Item& item);
/// The identity of the rows with their labels, in their order.
std::string dataset_digest(const Dataset& data);
/// The encodings that can be named.
const std::vector<std::string>& encodings();

/// Why training on this would fail, in words; empty: it can start. Opens no picture.
std::vector<std::string> obstacles(const Splits& splits);

/// How a whole number is spread over the rows.
struct Spread {
  int64_t least = 0, median = 0, p95 = 0, most = 0;
  std::vector<std::pair<int64_t, int64_t>> buckets;  ///< (largest value in it, rows)
};

/// Rows with the same content.
struct Duplicate {
  std::vector<std::string> sources;  ///< the first ten
  bool across = false;               ///< in more than one split
  std::string conflict;              ///< their different labels, in words; empty: they agree
};

struct DataReport {
  struct Part {
    std::string name;  ///< "train", "validation", "test"
    int64_t rows = 0;
    std::vector<int64_t> class_rows;  ///< by class: rows (of tagged text: tokens) with it
    std::string digest;
  };
  std::string task, found, encoding;
  bool made = false;
  std::vector<std::string> classes;
  std::vector<Part> parts;
  int64_t duplicates_within = 0, duplicates_across = 0, label_conflicts = 0;  ///< contents
  std::vector<Duplicate> duplicates;                                          ///< the first of them
  std::vector<std::string> unreadable;  ///< pictures, each with the reason
  Spread length;                        ///< characters of text, tokens of tagged text
  Spread width, height;                 ///< of pictures
  std::vector<std::string> notes, warnings;
  std::vector<std::string> fails;  ///< reasons for which training would fail
};

/// Looks through everything, decoding each picture.
DataReport check_data(const Splits& splits, Progress& progress);

}  // namespace hub
