#include "cli/inputs.h"

#include <glob.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <span>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"

namespace hub {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t max_input = uint64_t{256} << 20;

bool name_of_kind(const std::string& name, InputKind kind) {
  if (kind == InputKind::file) return true;
  static constexpr std::string_view pictures[] = {".jpg", ".jpeg", ".png", ".webp",
                                                  ".bmp", ".gif",  ".tif", ".tiff"};
  static constexpr std::string_view sounds[] = {".wav", ".flac", ".ogg", ".oga", ".opus", ".mp3"};
  static constexpr std::string_view videos[] = {".mp4", ".m4v",  ".mov", ".mkv", ".webm", ".avi",
                                                ".mpg", ".mpeg", ".ts",  ".flv", ".ogv",  ".wmv"};
  const std::span<const std::string_view> ends =
      kind == InputKind::image   ? std::span<const std::string_view>(pictures)
      : kind == InputKind::audio ? std::span<const std::string_view>(sounds)
                                 : videos;
  const std::string low = lower_ascii(name);
  return name.front() != '.' &&
         std::any_of(ends.begin(), ends.end(), [&](auto end) { return low.ends_with(end); });
}

std::string standard_input() {
  return {std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>()};
}

std::vector<std::string> files_in(const std::string& folder, InputKind kind) {
  std::vector<std::string> paths;
  std::error_code ec;
  for (const auto& entry : fs::directory_iterator(folder, ec)) {
    if (name_of_kind(entry.path().filename().string(), kind) && entry.is_regular_file()) {
      paths.push_back(entry.path().string());
    }
  }
  if (ec) fail(Code::storage, "cannot read folder ", folder, ": ", ec.message());
  if (paths.empty()) {
    fail(Code::not_found, "folder ", folder, " holds no ",
         kind == InputKind::file    ? "files"
         : kind == InputKind::image ? "pictures"
         : kind == InputKind::audio ? "sounds"
                                    : "videos");
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

std::vector<std::string> matches(const std::string& pattern) {
  glob_t found{};
  std::vector<std::string> paths;
  if (::glob(pattern.c_str(), 0, nullptr, &found) == 0) {
    paths.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  }
  ::globfree(&found);
  return paths;
}

}  // namespace

std::string_view kind_name(InputKind kind) {
  switch (kind) {
    case InputKind::text: return "a text";
    case InputKind::image: return "a picture";
    case InputKind::audio: return "a sound";
    case InputKind::video: return "a video";
    case InputKind::file: return "a file";
  }
  return {};
}

std::vector<InputItem> file_items(const std::vector<std::string>& words, InputKind kind) {
  std::vector<InputItem> items;
  for (const auto& word : words) {
    if (word == "-") {
      items.push_back({InputItem::From::standard_input, "-", ""});
    } else if (is_folder(word)) {
      for (const auto& path : files_in(word, kind))
        items.push_back({InputItem::From::file, path, ""});
    } else if (!exists(word) && word.find_first_of("*?[") != std::string::npos) {
      const auto paths = matches(word);
      if (paths.empty()) fail(Code::not_found, "no file matches ", word);
      for (const auto& path : paths) items.push_back({InputItem::From::file, path, ""});
    } else {
      items.push_back({InputItem::From::file, word, ""});
    }
  }
  return items;
}

std::vector<InputItem> line_items(const std::string& name, const std::string& bytes) {
  std::vector<InputItem> items;
  size_t number = 0;
  for (std::string_view line : lines(bytes)) {
    ++number;
    if (!valid_utf8(line)) fail(Code::refused, name, ", line ", number, ": not valid UTF-8");
    items.push_back({InputItem::From::text, std::string(line), std::string(line)});
  }
  return items;
}

std::vector<InputItem> text_items(const std::vector<std::string>& words) {
  std::vector<InputItem> items;
  for (const auto& word : words) {
    if (word == "-" || (exists(word) && !is_folder(word))) {
      const auto more = word == "-" ? line_items("standard input", standard_input())
                                    : line_items(word, read_file(word, max_input));
      items.insert(items.end(), more.begin(), more.end());
    } else {
      items.push_back({InputItem::From::text, word, word});
    }
  }
  return items;
}

Image read_picture(const std::string& path, Alpha alpha, Progress& progress) {
  return decode_image(read_file(path, max_input), path, progress, alpha);
}

Sample read_sample(const InputItem& item, InputKind kind, Progress& progress, Alpha alpha) {
  Sample sample;
  sample.name = item.name;
  if (kind == InputKind::text) {
    if (const size_t at = first_invalid_utf8(item.text); at != std::string::npos) {
      fail(Code::refused, "the text '", printable(item.text.substr(0, 80)),
           "' is not valid UTF-8 at byte ", at);
    }
    sample.text = item.text;
    return sample;
  }
  const std::string name = item.name == "-" ? "standard input" : item.name;
  if (kind == InputKind::video || kind == InputKind::file) {  // may be larger than memory
    sample.file = item.from == InputItem::From::standard_input ? MappedFile::of(standard_input())
                                                               : MappedFile::open(item.name);
    return sample;
  }
  const std::string bytes = item.from == InputItem::From::standard_input
                                ? standard_input()
                                : read_file(item.name, max_input);
  if (kind == InputKind::image) {
    sample.image = decode_image(bytes, name, progress, alpha);
  } else {
    sample.audio = decode_audio(bytes, name);
  }
  return sample;
}

}  // namespace hub
