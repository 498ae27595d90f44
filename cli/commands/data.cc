// hub data check
#include "finetune/data/data.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/terminal.h"
#include "cli/training.h"

namespace hub {
namespace {

constexpr size_t shown = 20;  // lines of each kind, for a person

json spread_json(const Spread& s) {
  json buckets = json::array();
  for (const auto& [top, rows] : s.buckets) buckets.push_back({{"to", top}, {"rows", rows}});
  return {{"least", s.least},
          {"median", s.median},
          {"p95", s.p95},
          {"most", s.most},
          {"histogram", buckets}};
}

json report_json(const DataReport& r) {
  json splits = json::object(), duplicates = json::array();
  for (const auto& part : r.parts) {
    splits[part.name] = {
        {"rows", part.rows}, {"class_rows", part.class_rows}, {"digest", part.digest}};
  }
  for (const Duplicate& d : r.duplicates) {
    json one = {{"sources", d.sources}, {"across", d.across}};
    if (!d.conflict.empty()) one["conflict"] = d.conflict;
    duplicates.push_back(std::move(one));
  }
  json out = {{"task", r.task},
              {"found", r.found},
              {"splits_made", r.made},
              {"classes", r.classes},
              {"splits", splits},
              {"duplicates_within", r.duplicates_within},
              {"duplicates_across", r.duplicates_across},
              {"label_conflicts", r.label_conflicts},
              {"duplicates", duplicates},
              {"unreadable", r.unreadable},
              {"notes", r.notes},
              {"warnings", r.warnings},
              {"fails", r.fails}};
  if (!r.encoding.empty()) out["encoding"] = r.encoding;
  if (r.length.most > 0) out["length"] = spread_json(r.length);
  if (r.width.most > 0) out["width"] = spread_json(r.width);
  if (r.height.most > 0) out["height"] = spread_json(r.height);
  return out;
}

std::string histogram(std::string_view what, const Spread& s) {
  if (s.most == 0) return "";
  std::string out = concat("\n", what, ": ", s.least, " to ", s.most, ", median ", s.median,
                           ", 95 % within ", s.p95, "\n");
  int64_t largest = 1;
  for (const auto& bucket : s.buckets) largest = std::max(largest, bucket.second);
  for (const auto& [top, rows] : s.buckets) {
    std::string left = concat("  to ", top);
    left.resize(std::max<size_t>(left.size() + 1, 14), ' ');
    std::string bar;
    for (int64_t i = 0; i < (rows * 30 + largest - 1) / largest; ++i) bar += "▪";
    out += concat(left, bar, rows > 0 ? " " : "", rows, "\n");
  }
  return out;
}

std::string counts(const DataReport& r) {
  std::vector<std::vector<std::string>> rows = {{""}, {"rows"}};
  for (const auto& part : r.parts) {
    rows[0].push_back(part.name);
    rows[1].push_back(std::to_string(part.rows));
  }
  const size_t listed = std::min(r.classes.size(), 2 * shown);
  for (size_t c = 0; c < listed; ++c) {
    rows.push_back({"  " + printable(r.classes[c])});
    for (const auto& part : r.parts) rows.back().push_back(std::to_string(part.class_rows[c]));
  }
  std::string s = table_text(rows);
  if (listed < r.classes.size()) s += concat("  … ", r.classes.size() - listed, " more classes\n");
  return s;
}

std::string sentences(std::string_view head, const std::vector<std::string>& list) {
  std::string s;
  for (size_t i = 0; i < std::min(list.size(), shown); ++i) {
    s += concat(head, printable(list[i]), "\n");
  }
  if (list.size() > shown) s += concat(head, "… and ", list.size() - shown, " more\n");
  return s;
}

std::string duplicate_text(const DataReport& r) {
  if (r.duplicates.empty()) return "";
  std::string s =
      concat("\nsame content: ", r.duplicates_within, " within a split, ", r.duplicates_across,
             " across splits, ", r.label_conflicts, " with different labels\n");
  for (const Duplicate& d : r.duplicates) {
    std::string line;
    for (const std::string& source : d.sources) line += (line.empty() ? "" : ", ") + source;
    if (d.across) line += " (across splits)";
    if (!d.conflict.empty()) line += concat(" (labels ", d.conflict, ")");
    s += concat("  ", printable(line), "\n");
  }
  return s;
}

std::string report_text(const DataReport& r) {
  std::string s = concat(printable(r.found), ", for ", r.task);
  if (!r.encoding.empty()) s += ", in " + r.encoding;
  s += concat("\n\n", counts(r), histogram("length", r.length), histogram("width", r.width),
              histogram("height", r.height), duplicate_text(r));
  std::string said = sentences("note: ", r.notes) + sentences("warning: ", r.warnings) +
                     sentences("unreadable: ", r.unreadable) +
                     sentences("training would fail: ", r.fails);
  if (r.fails.empty()) said += "training can start\n";
  return concat(s, "\n", said);
}

int check(const Args& args, Context& context) {
  const Splits splits = read_data(args.text("path"), data_options(args));
  const DataReport report = check_data(splits, context.terminal);
  context.terminal.print(context.json_output ? json_line(report_json(report))
                                             : report_text(report));
  return report.fails.empty() ? 0 : 1;
}

}  // namespace

extern const Command data_check_command{
    "data check", "Looks through a data set before training",
    "PATH: a table (CSV, TSV, JSONL), a folder with a sub-folder for each class, a list of\n"
    "images, tagged text (CoNLL), IDX, SQuAD's JSON or plain text; or a folder with train, dev\n"
    "and test of these. Exit status 1: training would fail.",
    with_data_arguments(
        {{"path", "text", "a file or a folder", "", true}, {"--json", "flag", "one JSON object"}}),
    check};

}  // namespace hub
