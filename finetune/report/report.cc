#include "finetune/report/report.h"

#include "base/error.h"
#include "base/text.h"
#include "finetune/metrics/number.h"
#include "finetune/report/class_tables.h"
#include "finetune/report/html.h"

namespace hub {
namespace {

constexpr size_t most_text = 600;

std::string cut(std::string_view text) {
  std::u32string points = decode_utf8(text);
  if (points.size() <= most_text) return std::string(text);
  return encode_utf8(points.substr(0, most_text)) + "…";
}

std::string section(std::string_view id, std::string_view title, std::string_view body) {
  if (body.empty()) return "";
  return concat("<section id=\"", id, "\"><h2>", title, "</h2>\n", body, "</section>\n");
}

std::string pairs_html(const std::vector<std::pair<std::string, std::string>>& pairs) {
  if (pairs.empty()) return "";
  std::string out = "<dl class=\"pairs\">\n";
  for (const auto& [name, value] : pairs)
    out += concat("<dt>", escaped(name), "</dt><dd>", escaped(value), "</dd>\n");
  return out + "</dl>\n";
}

std::string values_html(const ReportData& data) {
  if (data.metrics.values.empty()) return "";
  std::string out;
  if (!data.measured_on.empty())
    out += concat("<p class=\"soft\">Measured on: ", escaped(data.measured_on), "</p>\n");
  out += "<dl class=\"values\">\n";
  for (const auto& [name, value] : data.metrics.values)
    out += concat("<div><dt>", escaped(spoken(name)), "</dt><dd>", number_text(value),
                  "</dd></div>\n");
  return out + "</dl>\n";
}

std::string warnings_html(const ReportData& data) {
  std::string items;
  for (const auto* list : {&data.warnings, &data.metrics.warnings})
    for (const std::string& warning : *list) items += concat("<li>", escaped(warning), "</li>\n");
  if (items.empty()) return "";
  return concat("<section class=\"warnings\" id=\"warnings\"><h2>Warnings</h2><ul>\n", items,
                "</ul></section>\n");
}

std::string charts_html(const std::vector<Chart>& charts) {
  std::string figures;
  for (const Chart& chart : charts) figures += chart_html(chart);
  return figures.empty() ? "" : concat("<div class=\"charts\">\n", figures, "</div>\n");
}

std::string worst_html(const std::vector<WorstCase>& worst) {
  if (worst.empty()) return "";
  std::string out = "<ol class=\"cases\">\n";
  for (const WorstCase& w : worst) {
    out += "<li>";
    if (const std::string address = picture_address(w.picture); !address.empty())
      out +=
          concat("<img src=\"", address, "\" alt=\"", escaped(concat("Picture ", w.source)), "\">");
    if (!w.text.empty()) out += concat("<blockquote>", escaped(cut(w.text)), "</blockquote>");
    if (!w.wanted.empty())
      out += concat("<p>is <span class=\"right\">", escaped(cut(w.wanted)), "</span></p>");
    if (!w.got.empty())
      out += concat("<p>taken for <span class=\"wrong\">", escaped(cut(w.got)), "</span></p>");
    out += concat("<p class=\"source\">loss ", number_text(w.loss), w.source.empty() ? "" : " · ",
                  escaped(w.source), "</p></li>\n");
  }
  return out + "</ol>\n";
}

}  // namespace

std::string report_html(const ReportData& data) {
  const std::vector<std::pair<std::string, std::string>> parts = {
      {"result", section("result", "Result", values_html(data))},
      {"curves", section("curves", "Curves", charts_html(data.charts))},
      {"confusion", confusion_html(data.metrics)},
      {"classes", class_table_html(data.metrics)},
      {"worst", section("worst", "Worst cases", worst_html(data.worst))},
      {"data", section("data", "Data", pairs_html(data.data))},
      {"settings", section("settings", "Settings", pairs_html(data.settings))},
  };
  std::string links, body;
  for (const auto& [id, html] : parts) {
    if (html.empty()) continue;
    links += concat("<a href=\"#", id, "\">", id, "</a>\n");
    body += html;
  }
  const std::string title = escaped(data.title);
  return concat(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'; img-src data:\">\n<title>",
      title, "</title>\n<style>", report_style, "</style></head>\n<body><header><h1>", title,
      "</h1>\n<p>", escaped(data.summary), "</p>\n<nav aria-label=\"Sections\">", links,
      "</nav></header>\n<main>\n", warnings_html(data), body,
      "</main>\n<footer>Made by hub finetune.</footer></body></html>\n");
}

}  // namespace hub
