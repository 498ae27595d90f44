// The output contract: results as JSON lines, or as text for a person.
#pragma once

#include <string>

#include "hub/manifest.h"

namespace hub {

/// One line, valid UTF-8 whatever is inside.
std::string json_line(const json& value);
/// A result for a person, by its form: labels and scores, words and tags, lines of text,
/// times in seconds, notes, numbers.
std::string output_text(const json& output);
std::string size_text(uint64_t bytes);        ///< "18.8 MB"
std::string short_number(double value);       ///< "0.0001", "1.5e-07"
std::string fixed(double value, int digits);  ///< "3.14" with two digits behind the point
/// Columns padded to their widest cell, no spaces at the ends of lines.
std::string table_text(const std::vector<std::vector<std::string>>& rows);

}  // namespace hub
