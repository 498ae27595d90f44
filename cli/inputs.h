// The inputs of `hub run`: text, files, folders, patterns and standard input become samples, one
// each.
#pragma once

#include <string>
#include <vector>

#include "modules/task.h"

namespace hub {

/// What a task of this kind takes, in words: "a picture".
std::string_view kind_name(InputKind kind);

/// One input before it is read: `name` is what the result line says.
struct InputItem {
  enum class From { text, file, standard_input } from = From::text;
  std::string name, text;
};

/// Words of the command line as a task of pictures, sounds or videos takes them: a file, a folder
/// (its files of that kind, by name), a pattern with * ? [ ] when no file is called so, or "-". A
/// word that names nothing stays, so that its own result line says so.
std::vector<InputItem> file_items(const std::vector<std::string>& words, InputKind kind);
/// As a text task takes them: the text itself; a file with one text a line when `word` is the path
/// of one; "-".
std::vector<InputItem> text_items(const std::vector<std::string>& words);
/// One item a line; throws Code::refused on invalid UTF-8, naming the line.
std::vector<InputItem> line_items(const std::string& name, const std::string& bytes);

/// Reads and decodes; errors name the item.
Sample read_sample(const InputItem& item, InputKind kind, Progress& progress,
                   Alpha alpha = Alpha::on_white);
/// The picture in a file.
Image read_picture(const std::string& path, Alpha alpha, Progress& progress);

}  // namespace hub
