#include "cli/output.h"

#include <cstdio>

#include "base/error.h"
#include "base/text.h"

namespace hub {
namespace {

std::string score_text(const json& score) { return fixed(score.get<double>(), 4); }

}  // namespace

std::string json_line(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

std::string output_text(const json& output) {
  std::string s;
  if (output.contains("classes")) {
    for (const json& row : output["classes"]) {
      s += concat(score_text(row.at("share")), "  ", printable(row.at("label").get<std::string>()),
                  "\n");
    }
    return s;
  }
  if (output.is_array() || output.contains("objects")) {  // classification, detection
    for (const json& row : output.is_array() ? output : output["objects"]) {
      s += concat(score_text(row.at("score")), "  ", printable(row.at("label").get<std::string>()));
      if (row.contains("box")) {
        s += " ";
        for (const json& place : row["box"]) s += " " + fixed(place.get<double>(), 0);
      }
      s += "\n";
    }
    return s;
  }
  if (output.contains("words")) {
    for (const json& word : output["words"]) {
      if (!s.empty()) s += ' ';
      s += printable(word.at("text").get<std::string>());
      if (word.contains("tag")) s += "/" + word["tag"].get<std::string>();
      if (word.contains("phonemes")) {
        s += " [";
        for (const json& phoneme : word["phonemes"])
          s += concat(s.ends_with('[') ? "" : " ", printable(phoneme.get<std::string>()));
        s += ']';
      }
      if (word.contains("rank")) s += "/" + word["rank"].dump();
    }
    return s + "\n";
  }
  if (output.contains("lines")) {
    for (const json& line : output["lines"]) {
      s += concat(score_text(line.at("score")), "  ", printable(line.at("text").get<std::string>()),
                  "\n");
    }
    return s;
  }
  if (output.contains("segments")) {
    for (const json& segment : output["segments"]) {
      s += concat(fixed(segment.at("start").get<double>(), 3), "  ",
                  fixed(segment.at("end").get<double>(), 3));
      if (segment.contains("text")) s += "  " + printable(segment["text"].get<std::string>());
      s += "\n";
    }
    return s;
  }
  if (output.contains("notes")) {
    for (const json& note : output["notes"]) {
      s += concat(fixed(note.at("start").get<double>(), 3), "  ",
                  fixed(note.at("end").get<double>(), 3), "  ", note.at("pitch").dump(), "  ",
                  score_text(note.at("score")), "\n");
    }
    return s;
  }
  if (output.contains("colors"))
    return concat(output.at("width").dump(), " x ", output.at("height").dump(), "\n");
  if (output.contains("mime")) {
    return concat(score_text(output.at("score")), "  ",
                  printable(output.at("label").get<std::string>()), "  ",
                  printable(output["mime"].get<std::string>()), "  ",
                  printable(output.at("description").get<std::string>()), "\n");
  }
  if (output.contains("similarity")) return score_text(output["similarity"]) + "\n";
  if (output.contains("embedding")) return json_line(output["embedding"]);
  return json_line(output);
}

std::string size_text(uint64_t bytes) { return fixed(static_cast<double>(bytes) / 1e6, 1) + " MB"; }

std::string short_number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

std::string fixed(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

std::string table_text(const std::vector<std::vector<std::string>>& rows) {
  auto columns = [](const std::string& s) { return decode_utf8(s).size(); };
  std::vector<size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], columns(row[i]));
  }
  std::string s;
  for (const auto& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      line += row[i];
      if (i + 1 < row.size()) line.append(widths[i] - columns(row[i]) + 2, ' ');
    }
    s += line.erase(line.find_last_not_of(' ') + 1) + "\n";
  }
  return s;
}

}  // namespace hub
