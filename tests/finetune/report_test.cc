// The page, the line of progress and the model card.
#include "finetune/report/report.h"

#include <catch2/catch.hpp>
#include <limits>

#include "finetune/metrics/number.h"
#include "finetune/report/html.h"
#include "tests/error_of.h"

using namespace hub;
using Catch::Matchers::Contains;

namespace {

size_t count(std::string_view text, std::string_view part) {
  size_t n = 0;
  for (size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

Metrics class_metrics(size_t classes, const std::string& prefix = "class ") {
  std::vector<std::string> names;
  std::vector<int32_t> labels, predicted;
  for (size_t c = 0; c < classes; ++c) {
    names.push_back(concat(prefix, c));
    for (int k = 0; k < 3; ++k) labels.push_back(static_cast<int32_t>(c));
    for (size_t p : {c, c, (c + 1) % classes}) predicted.push_back(static_cast<int32_t>(p));
  }
  ClassMeter meter(names);
  meter.add_decisions(predicted, labels);
  return meter.result();
}

/// Every tag that is opened is closed, in order.
void check_well_formed(std::string_view html) {
  std::vector<std::string> open;
  for (size_t at = html.find('<'); at != std::string_view::npos; at = html.find('<', at + 1)) {
    const std::string_view tag = html.substr(at + 1, html.find('>', at) - at - 1);
    if (tag.starts_with('!') || tag.starts_with("meta") || tag.starts_with("img") ||
        tag.ends_with('/'))
      continue;
    const bool closes = tag.starts_with('/');
    const std::string name(tag.substr(closes, tag.find(' ') - closes));
    if (!closes) {
      open.push_back(name);
    } else {
      REQUIRE_FALSE(open.empty());
      REQUIRE(open.back() == name);
      open.pop_back();
    }
  }
  CHECK(open.empty());
}

}  // namespace

TEST_CASE("report: everything from outside is escaped") {
  const std::string evil = "<script>x('\"&\x01\xff')</script>";
  const std::string safe =
      "&lt;script&gt;x(&#39;&quot;&amp;\xef\xbf\xbd\xef\xbf\xbd&#39;)&lt;/script&gt;";
  CHECK(escaped(evil) == safe);
  ReportData d;
  d.title = d.summary = d.measured_on = evil;
  d.data = d.settings = {{evil, evil}};
  d.charts = {{evil, {{evil, {{1, 2.0}}}}}};
  d.metrics = class_metrics(3, evil);
  d.metrics.values.emplace_back(evil, 1);
  d.worst = {{evil, evil, "\xff\xd8\xff", evil, evil, 1}};
  d.warnings = {evil};
  const std::string html = report_html(d);
  CHECK(count(html, "<script") == 0);
  CHECK(count(html, "'\"") == 0);
  CHECK(count(html, safe) >= 40);
  check_well_formed(html);
}

TEST_CASE("report: its parts, and none of what is not there") {
  ReportData d;
  d.title = "x@1.0.0";
  std::string html = report_html(d);
  check_well_formed(html);
  CHECK(count(html, "<section") == 0);
  for (const char* outside : {"http:", "https:", "src=\"/", "url(", "@import"})
    CHECK(count(html, outside) == 0);

  d.metrics = class_metrics(3);
  d.charts = {{"Loss", {{"training", {{1, 2.0}, {2, 1.0}}}, {"validation", {{2, 1.5}}}}}};
  d.worst = {{"a.png", "", "\x89PNG\r\n\x1a\nab", "cat", "dog", 3.5},
             {"b:2", "words", "", "", "", 1}};
  html = report_html(d);
  check_well_formed(html);
  for (const char* id : {"result", "curves", "confusion", "classes", "worst"}) {
    CHECK_THAT(html, Contains(concat("<section id=\"", id, "\">")));
    CHECK_THAT(html, Contains(concat("<a href=\"#", id, "\">")));
  }
  CHECK_THAT(
      html, Contains("<img src=\"data:image/png;base64,iVBORw0KGgphYg==\" alt=\"Picture a.png\">"));
  CHECK_THAT(
      html,
      Contains("aria-label=\"Loss. training: last 1, lowest 1 at step 2, highest 2 at step 1. "
               "validation: last 1.5"));
  CHECK_THAT(html,
             Contains("<td class=\"d6\">2</td><td class=\"e3\">1</td><td class=\"none\">0</td>"));
  CHECK_THAT(html, Contains("<td>class 1</td><td>1</td><td>33.3 %</td>"));
}

TEST_CASE("report: the matrix for 2 to 60 classes, the pairs beyond") {
  for (size_t n : {2, 6, 7, 60, 61, 1000}) {
    ReportData d;
    d.metrics = class_metrics(n);
    const std::string html = report_html(d);
    INFO(n);
    CHECK(count(html, "<td class=\"d6\">") == (n <= 60 ? n : 0));
    CHECK(count(html, "class=\"confusion many\"") == (n > 6 && n <= 60 ? 1 : 0));
    CHECK(count(html, "Most frequent confusions</h3>") == (n > 2 ? 1 : 0));
    check_well_formed(html);
  }
}

TEST_CASE("report: curves of any shape") {
  struct Row {
    std::vector<std::pair<int64_t, double>> points;
    size_t polylines, circles;
  };
  std::vector<std::pair<int64_t, double>> many;
  for (int64_t i = 1; i <= 100'000; ++i) many.emplace_back(i, 1.0 / static_cast<double>(i));
  const double inf = std::numeric_limits<double>::infinity();
  const std::vector<Row> table = {{{}, 0, 0},
                                  {{{1, inf}}, 0, 0},
                                  {{{0, 0}}, 1, 1},
                                  {{{5, 3}}, 1, 1},
                                  {{{1, 2}, {2, 2}}, 1, 2},
                                  {{{1, -1e300}, {2, 1e300}}, 1, 2},
                                  {{{1, 1}, {2, inf}, {3, 2}}, 1, 2},
                                  {many, 1, 0},
                                  {{{1, 1e-300}, {2, 2e-300}}, 1, 2},
                                  {{{1, -1.7e308}, {2, 1.7e308}}, 0, 0},
                                  {{{1, 5e-324}}, 1, 1}};
  for (const Row& row : table) {
    const std::string html = chart_html({"t", {{"c", row.points}}});
    CHECK(count(html, "<polyline") == row.polylines);
    CHECK(count(html, "<circle") == row.circles);
    CHECK(count(html, "nan") + count(html, "inf") == 0);
    CHECK(html.size() < 12'000);
    check_well_formed(html);
  }
}

TEST_CASE("pictures: only what a browser shows, as base64") {
  CHECK(picture_address("\xff\xd8\xff") == "data:image/jpeg;base64,/9j/");
  CHECK(picture_address("\xff\xd8\xff"
                        "a") == "data:image/jpeg;base64,/9j/YQ==");
  CHECK(picture_address("\xff\xd8\xff"
                        "ab") == "data:image/jpeg;base64,/9j/YWI=");
  CHECK(picture_address("GIF89a").starts_with("data:image/gif;base64,R0lGODlh"));
  CHECK(picture_address("RIFF1234WEBP").starts_with("data:image/webp;"));
  for (const char* other : {"", "<svg onload='x'>", "RIFF1234WAVE"})
    CHECK(picture_address(other).empty());
}

TEST_CASE("progress line") {
  ProgressState s{2, 5, 31, 120, 0.4123, "accuracy", 0.8301, 214.7, 40.6};
  CHECK(progress_line(s) ==
        "epoch 2/5 step 31/120 loss 0.412 accuracy 0.83 215 samples/s 0:41 left");
  s = {1, 1, 1, 9, 12.5, "", 0, 0, {}};
  CHECK(progress_line(s) == "epoch 1/1 step 1/9 loss 12.5");
  for (const auto& [seconds, text] :
       std::vector<std::pair<double, const char*>>{{0, "0:00"},
                                                   {-3, "0:00"},
                                                   {59.6, "1:00"},
                                                   {3599, "59:59"},
                                                   {3723, "1:02:03"},
                                                   {1e18, "99:59:59"}}) {
    s.seconds_left = seconds;
    CHECK_THAT(progress_line(s), Contains(concat(" ", text, " left")));
  }
}

TEST_CASE("numbers for people") {
  CHECK(number_text(0.83125) == "0.8313");
  CHECK(number_text(1e-5) == "1e-05");
  CHECK(number_text(-0.0) == "-0");
  CHECK(fixed_text(0.5) == "0.500");
  CHECK(fixed_text(1e308).size() == 313);
  for (const auto& [n, text] : std::vector<std::pair<int64_t, const char*>>{{0, "0"},
                                                                            {999, "999"},
                                                                            {1000, "1,000"},
                                                                            {-1000, "-1,000"},
                                                                            {-999, "-999"},
                                                                            {1234567, "1,234,567"}})
    CHECK(count_text(n) == text);
}

TEST_CASE("model card") {
  CardData d;
  d.name = "my-reviews";
  d.version = "1.0.0";
  d.task = "text-classification";
  d.summary = "Stars | of *reviews*\nin English";
  d.base = "minilm-l6@2.0.0";
  d.license = "Apache-2.0";
  d.base_digest = "aa";
  d.data_digest = "bb";
  d.data = {{"training rows", "900"}};
  d.options = {{"epochs", "3"}};
  d.measured_on = "validation set, 100 rows";
  d.metrics.values = {{"macro_f1", 0.8125}};
  d.metrics.classes = {{"a|b", 1, 0.5, 0.667, 10, 5}};
  d.metrics.warnings = {"class c is never predicted"};
  d.example_input = "it's $(good)\n";
  CHECK(model_card(d) == R"(# my-reviews

Stars \| of \*reviews\* in English

| | |
|---|---|
| version | 1.0.0 |
| task | text-classification |
| made from | minilm-l6@2.0.0 |
| licence | Apache-2.0, inherited from minilm-l6@2.0.0 |
| digest of the base | aa |
| digest of the data | bb |

## Use

```sh
hub run my-reviews 'it'\''s $(good) '
hub verify --run my-reviews
```

## Data

| | |
|---|---|
| training rows | 900 |

## How good it is

Measured on: validation set, 100 rows

| | |
|---|---|
| macro\_f1 | 0.8125 |

| class | precision | recall | F1 | rows |
|---|--:|--:|--:|--:|
| a\|b | 1.000 | 0.500 | 0.667 | 10 |

## How it was trained

| | |
|---|---|
| epochs | 3 |

## Limits

- class c is never predicted
- The figures hold for data like the data above; on other data it can be wrong more often and does not say so.
- What minilm-l6@2.0.0 had learnt before, with its errors and leanings, is still in it.
)");
}
