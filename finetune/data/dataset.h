// A data set in memory: what was read from a table, a folder or a list, ready to be encoded by a
// task. Pictures stay files until they are needed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace hub {

/// One row. What is used depends on the task; the rest is empty.
struct Item {
  std::string source;  ///< "reviews.csv:12" or the picture's path: for messages and the worst cases
  std::string text;    ///< a sentence; the context of a question; one document of plain text
  std::string text_b;  ///< the second sentence of a pair; the question
  std::string file;    ///< a picture's path
  std::string digest;  ///< sha256 of the picture's file, in hex: what makes two of them the same
  std::vector<uint8_t> gray;        ///< a picture that came as numbers (IDX): gray, 8 bit
  int width = 0, height = 0;        ///< of `gray`
  std::vector<std::string> tokens;  ///< of a tagged sequence
  std::vector<int32_t> labels;      ///< indices into Dataset::classes: one; any number
                                    ///< (multi-label); one a token (sequences)
  float value = 0;                  ///< regression
  int64_t start = -1, end = -1;     ///< span of the answer in `text`, code points, end exclusive;
                                    ///< -1: no answer
  std::string group;                ///< rows of one group stay in one split; empty: on its own
};

struct Dataset {
  std::vector<std::string> classes;  ///< in the order of the label indices
  std::vector<Item> items;
  std::string digest;                 ///< sha256 over what was read: the data's identity
  std::vector<std::string> warnings;  ///< said once, with file and line
};

}  // namespace hub
