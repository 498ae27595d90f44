// Reading comprehension in the JSON of SQuAD (rajpurkar.github.io/SQuAD-explorer) and its kin
// (CMRC, DRCD): contexts, questions and where the answer stands.
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text.h"
#include "finetune/data/rows.h"
#include "hub/manifest.h"

namespace hub {
namespace {

/// The member, or null where it is missing or of another kind.
const json* member(const json& object, const char* key, json::value_t kind) {
  if (!object.is_object()) return nullptr;
  const auto it = object.find(key);
  return it == object.end() || it->type() != kind ? nullptr : &*it;
}

const json& list(const json& object, const char* key, const std::string& where) {
  const json* value = member(object, key, json::value_t::array);
  if (value == nullptr) fail(Code::refused, where, ": a list '", key, "' is wanted");
  return *value;
}

/// The span of the first answer, in code points; why it is none, or "".
std::string find_answer(const json& qa, const std::u32string& context, Item& item) {
  const json* answers = member(qa, "answers", json::value_t::array);
  if (answers == nullptr || answers->empty()) return "";  // no answer in this text
  const json* text = member(answers->front(), "text", json::value_t::string);
  if (text == nullptr) return "an answer without text";
  const std::u32string answer = decode_utf8(text->get_ref<const std::string&>());
  const json* start = nullptr;
  for (const auto kind : {json::value_t::number_unsigned, json::value_t::number_integer}) {
    if (start == nullptr) start = member(answers->front(), "answer_start", kind);
  }
  const int64_t at = start == nullptr ? -1 : start->get<int64_t>();
  if (at < 0) return "an answer without answer_start";
  const auto size = static_cast<int64_t>(context.size());
  if (answer.empty() || at > size ||
      context.compare(static_cast<size_t>(at), answer.size(), answer) != 0) {
    return "the answer does not stand at answer_start";
  }
  item.start = at;
  item.end = at + static_cast<int64_t>(answer.size());
  return "";
}

}  // namespace

Rows read_squad(const std::string& path, const DataOptions& options) {
  const std::string file = file_name(path);
  const json root = within(
      file, [&] { return parse_json(read_text(path, options.encoding), max_data_file, 16); });
  Rows out;
  std::map<std::string, size_t> skipped;
  size_t paragraphs = 0;
  for (const json& article : list(root, "data", file)) {
    for (const json& paragraph : list(article, "paragraphs", file)) {
      const json* context = member(paragraph, "context", json::value_t::string);
      const std::string where = concat(file, ": paragraph ", ++paragraphs);
      if (context == nullptr) fail(Code::refused, where, ": a text 'context' is wanted");
      const auto& text = context->get_ref<const std::string&>();
      if (text.size() > max_row) fail(Code::refused, where, ": more than ", max_row, " bytes");
      const std::u32string points = decode_utf8(text);
      size_t number = 0;
      for (const json& qa : list(paragraph, "qas", where)) {
        Row row;
        row.item.source = concat(where, ", question ", ++number);
        row.item.text = text;
        row.item.group = std::to_string(paragraphs);
        const json* question = member(qa, "question", json::value_t::string);
        std::string why;
        if (question == nullptr) {
          why = "a question without text";
        } else {
          row.item.text_b = question->get<std::string>();
          why = find_answer(qa, points, row.item);
        }
        if (why.empty()) {
          out.rows.push_back(std::move(row));
          continue;
        }
        if (options.strict) fail(Code::refused, row.item.source, ": ", why);
        if (skipped[why]++ == 0) {
          out.warnings.push_back(concat(row.item.source, " and maybe more skipped: ", why));
        }
      }
    }
  }
  for (const auto& [why, count] : skipped) {
    out.warnings.push_back(concat(file, ": ", count, " questions skipped, ", why));
  }
  out.task = task_reading;
  out.found = concat("questions on texts, as SQuAD (", file, ")");
  return out;
}

}  // namespace hub
