#include "base/error.h"
#include "base/text.h"
#include "finetune/metrics/number.h"
#include "finetune/report/report.h"

namespace hub {
namespace {

/// Text that Markdown shows as it is, on one line.
std::string plain(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      out += ' ';
      continue;
    }
    if (std::string_view("\\`*_[]<>|#&").find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

std::string shell_quoted(std::string_view text) {
  std::string out = "'";
  for (char c : text) {
    if (c == '\'') {
      out += "'\\''";
    } else {
      out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
  return out + "'";
}

std::string table(const std::vector<std::pair<std::string, std::string>>& pairs) {
  std::string out = "| | |\n|---|---|\n";
  for (const auto& [name, value] : pairs)
    out += concat("| ", plain(name), " | ", plain(value), " |\n");
  return out;
}

}  // namespace

std::string model_card(const CardData& d) {
  std::string out = concat("# ", plain(d.name), "\n\n", plain(d.summary), "\n\n");
  out += table({{"version", d.version},
                {"task", d.task},
                {"made from", d.base},
                {"licence", concat(d.license, ", inherited from ", d.base)},
                {"digest of the base", d.base_digest},
                {"digest of the data", d.data_digest}});
  out += concat("\n## Use\n\n```sh\nhub run ", d.name, " ", shell_quoted(d.example_input),
                "\nhub verify --run ", d.name, "\n```\n");
  if (!d.data.empty()) out += "\n## Data\n\n" + table(d.data);
  if (!d.metrics.values.empty()) {
    out += "\n## How good it is\n\n";
    if (!d.measured_on.empty()) out += concat("Measured on: ", plain(d.measured_on), "\n\n");
    std::vector<std::pair<std::string, std::string>> values;
    for (const auto& [name, value] : d.metrics.values)
      values.emplace_back(name, number_text(value));
    out += table(values);
  }
  if (!d.metrics.classes.empty()) {
    out += "\n| class | precision | recall | F1 | rows |\n|---|--:|--:|--:|--:|\n";
    for (const ClassRow& c : d.metrics.classes)
      out +=
          concat("| ", plain(c.name), " | ", fixed_text(c.precision), " | ", fixed_text(c.recall),
                 " | ", fixed_text(c.f1), " | ", count_text(c.support), " |\n");
  }
  if (!d.options.empty()) out += "\n## How it was trained\n\n" + table(d.options);
  out += "\n## Limits\n\n";
  for (const std::string& warning : d.metrics.warnings) out += concat("- ", plain(warning), "\n");
  out += concat(
      "- The figures hold for data like the data above; on other data it can be wrong more often "
      "and does not say so.\n- What ",
      plain(d.base), " had learnt before, with its errors and leanings, is still in it.\n");
  return out;
}

}  // namespace hub
