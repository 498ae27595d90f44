// Tagged text: CoNLL (a token and its tag a line), PaddleHub's lists joined by \002, and sentences
// of word/tag, which become characters with B- and I- tags as LAC has them.
#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "finetune/data/rows.h"

namespace hub {
namespace {

constexpr char joint = '\002';
constexpr size_t max_tokens = 100'000;  // of one sentence

/// The parts between blanks and tabs, none empty.
std::vector<std::string_view> fields(std::string_view line) {
  std::vector<std::string_view> out;
  size_t at = 0;
  while ((at = line.find_first_not_of(" \t", at)) != line.npos) {
    const size_t end = std::min(line.find_first_of(" \t", at), line.size());
    out.push_back(line.substr(at, end - at));
    at = end;
  }
  return out;
}

bool is_bio(std::string_view tag) {
  return tag == "O" || (tag.size() > 2 && tag[1] == '-' &&
                        std::string_view("BIESLMUS").find(tag[0]) != std::string_view::npos);
}

bool is_word_tag(std::string_view field) {
  const size_t slash = field.rfind('/');
  if (slash == field.npos || slash == 0 || slash + 1 == field.size()) return false;
  const std::string_view tag = field.substr(slash + 1);
  return tag.size() <= 16 && std::all_of(tag.begin(), tag.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == ']' || c == '-';
         });
}

enum class Form { joined, word_tag, conll };

Form form_of(std::string_view head) {
  if (head.find(joint) != head.npos) return Form::joined;
  size_t word_tags = 0, all = 0;
  for (std::string_view line : lines(head.substr(0, head.rfind('\n')))) {
    for (std::string_view field : fields(line)) {
      ++all;
      word_tags += is_word_tag(field);
    }
  }
  return all > 0 && word_tags * 10 >= all * 9 ? Form::word_tag : Form::conll;
}

class Reader {
 public:
  Reader(const std::string& file, bool strict) : file_(file), skips_(file, strict) {}

  Rows read(std::string_view text) {
    const Form form = form_of(text.substr(0, 65536));
    size_t number = 0;
    for (std::string_view line : lines(text)) {
      ++number;
      if (line.size() > max_row) {
        fail(Code::refused, file_, ":", number, ": a row of ", line.size(), " bytes; at most ",
             max_row, " are read");
      }
      if (form == Form::joined) joined(line, number);
      if (form == Form::word_tag) word_tags(line, number);
      if (form == Form::conll) conll(line, number);
    }
    finish();
    skips_.report(rows_.warnings);
    rows_.task = task_tagging;
    rows_.found = concat(form == Form::conll      ? "tagged text, a token a line"
                         : form == Form::word_tag ? "tagged text, word/tag, as characters"
                                                  : "tagged text, joined by \\002",
                         " (", file_, ")");
    return std::move(rows_);
  }

 private:
  void add(std::string_view token, std::string tag, size_t number) {
    if (row_.item.tokens.size() == max_tokens) {
      fail(Code::refused, file_, ":", number, ": a sentence of more than ", max_tokens,
           " tokens; blank lines are wanted between sentences");
    }
    if (row_.item.tokens.empty()) row_.item.source = concat(file_, ":", number);
    row_.item.tokens.emplace_back(token);
    row_.labels.push_back(std::move(tag));
  }

  void finish() {
    if (!row_.item.tokens.empty()) rows_.rows.push_back(std::move(row_));
    row_ = {};
  }

  void conll(std::string_view line, size_t number) {
    const auto parts = fields(line);
    if (parts.empty()) return finish();
    if (parts[0] == "-DOCSTART-") return;
    if (parts.size() < 2) return skips_.add("a token without a tag", number);
    add(parts.front(), std::string(parts.back()), number);
  }

  void word_tags(std::string_view line, size_t number) {
    for (std::string_view field : fields(line)) {
      if (field.size() > 1 && field[0] == '[')
        field.remove_prefix(1);  // of a compound: [a/n b/n]nt
      if (!is_word_tag(field)) {
        skips_.add("a word without /tag", number);
        row_ = {};
        return;
      }
      const size_t slash = field.rfind('/');
      std::string_view tag = field.substr(slash + 1);
      tag = tag.substr(0, tag.find(']'));
      std::string_view prefix = "B-";
      for (const char32_t c : decode_utf8(field.substr(0, slash))) {
        std::string character;
        append_utf8(character, c);
        add(character, concat(prefix, tag), number);
        prefix = "I-";
      }
    }
    finish();
  }

  void joined(std::string_view line, size_t number) {
    if (trim(line).empty()) return;
    const auto columns = split(line, '\t');
    if (number == 1 && line.find(joint) == line.npos && lower_ascii(columns[0]) == "text_a") return;
    if (columns.size() != 2) return skips_.add("'tokens<tab>tags' is wanted", number);
    const auto tokens = split(columns[0], joint), tags = split(columns[1], joint);
    if (tokens.size() != tags.size()) return skips_.add("not as many tags as tokens", number);
    const auto empty = [](std::string_view s) { return trim(s).empty(); };
    if (std::any_of(tags.begin(), tags.end(), empty)) return skips_.add("an empty tag", number);
    for (size_t i = 0; i < tokens.size(); ++i) add(tokens[i], std::string(tags[i]), number);
    finish();
  }

  const std::string& file_;
  Skips skips_;
  Rows rows_;
  Row row_;
};

}  // namespace

bool looks_tagged(std::string_view head) {
  if (form_of(head) != Form::conll) return true;
  size_t tagged = 0;
  for (std::string_view line : lines(head.substr(0, head.rfind('\n')))) {
    const auto parts = fields(line);
    if (parts.empty() || parts[0] == "-DOCSTART-") continue;
    if (parts.size() < 2 || !is_bio(parts.back())) return false;
    ++tagged;
  }
  return tagged > 0;
}

Rows read_tagged(const std::string& path, const DataOptions& options) {
  const std::string text = read_text(path, options.encoding), file = file_name(path);
  return Reader(file, options.strict).read(text);
}

}  // namespace hub
