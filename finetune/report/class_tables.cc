#include "finetune/report/class_tables.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "finetune/metrics/number.h"
#include "finetune/report/html.h"

namespace hub {
namespace {

constexpr size_t most_classes = 60, upright_names = 6, most_pairs = 10;

struct Pair {
  int64_t rows;
  size_t wanted, taken;
};

std::string matrix_html(const Metrics& m) {
  const size_t n = m.classes.size();
  std::string out = concat(
      "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"Confusion matrix\">"
      "<table class=\"confusion",
      n > upright_names ? " many" : "", "\"><thead><tr><th scope=\"col\">is \\ taken for</th>");
  std::vector<std::string> names;
  for (const ClassRow& c : m.classes) names.push_back(escaped(c.name));
  for (const std::string& name : names)
    out += concat("<th scope=\"col\" title=\"", name, "\"><span>", name, "</span></th>");
  out += "</tr></thead><tbody>\n";
  for (size_t t = 0; t < n; ++t) {
    out += concat("<tr><th scope=\"row\" title=\"", names[t], "\">", names[t], "</th>");
    for (size_t p = 0; p < n; ++p) {
      const int64_t rows = m.confusion[t][p];
      if (rows == 0) {
        out += "<td class=\"none\">0</td>";
        continue;
      }
      // Ten levels of the share of the class's rows.
      const double share = static_cast<double>(rows) / static_cast<double>(m.classes[t].support);
      const int level = std::clamp(static_cast<int>(std::ceil(share * 10)) - 1, 0, 9);
      out += concat("<td class=\"", t == p ? 'd' : 'e', level, "\">", rows, "</td>");
    }
    out += "</tr>\n";
  }
  return out + "</tbody></table></div>\n";
}

}  // namespace

std::string confusion_html(const Metrics& m) {
  const size_t n = m.classes.size();
  if (m.confusion.size() != n || n == 0) return "";
  std::vector<Pair> pairs;
  for (size_t t = 0; t < n; ++t)
    for (size_t p = 0; p < n; ++p)
      if (t != p && m.confusion[t][p] > 0) pairs.push_back({m.confusion[t][p], t, p});
  std::stable_sort(pairs.begin(), pairs.end(), [](auto& a, auto& b) { return a.rows > b.rows; });

  std::string out = "<section id=\"confusion\"><h2>What is taken for what</h2>\n";
  if (n <= most_classes) {
    out +=
        "<p class=\"soft\">Rows of the table: what it is. Columns: what it was taken for. The "
        "diagonal is right; the colour is the share of the class.</p>\n";
    out += matrix_html(m);
  }
  if (n > 2 && !pairs.empty()) {
    std::vector<std::vector<std::string>> rows = {
        {"Is", "Taken for", "Rows", "Share of the class"}};
    for (size_t i = 0; i < pairs.size() && i < most_pairs; ++i) {
      const Pair& pair = pairs[i];
      const auto support = static_cast<double>(m.classes[pair.wanted].support);
      rows.push_back({m.classes[pair.wanted].name, m.classes[pair.taken].name,
                      count_text(pair.rows),
                      fixed_text(100 * static_cast<double>(pair.rows) / support, 1) + " %"});
    }
    out += "<h3>Most frequent confusions</h3>\n" + table_html("Most frequent confusions", rows);
  }
  return out + "</section>\n";
}

std::string class_table_html(const Metrics& m) {
  if (m.classes.empty()) return "";
  std::string out =
      "<section id=\"classes\"><h2>Classes</h2>\n<div class=\"scroll\" role=\"region\" "
      "tabindex=\"0\" aria-label=\"Classes\"><table><thead><tr>";
  for (const char* head : {"Class", "Precision", "Recall", "F1", "Rows", "Predicted"})
    out += concat("<th scope=\"col\">", head, "</th>");
  out += "</tr></thead><tbody>\n";
  for (const ClassRow& c : m.classes) {
    out += concat("<tr><th scope=\"row\">", escaped(c.name), "</th><td>", fixed_text(c.precision),
                  "</td><td>", fixed_text(c.recall),
                  "</td><td class=\"share\" style=\"--v:", fixed_text(100 * c.f1, 1), "\">",
                  fixed_text(c.f1), "</td><td>", count_text(c.support), "</td><td>",
                  count_text(c.predicted), "</td></tr>\n");
  }
  return out + "</tbody></table></div></section>\n";
}

}  // namespace hub
