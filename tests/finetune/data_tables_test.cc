// Tables: the cases F01, F04, F05, F07, F09, F10, and how columns are found.
#include <catch2/catch.hpp>

#include "finetune/data/data.h"
#include "tests/error_of.h"
#include "tests/scratch.h"

namespace hub {
namespace {

const std::string cases = std::string(HUB_SOURCE_DIR) + "/tests/data/tables/";
using Pairs = std::vector<std::pair<std::string, std::string>>;

DataOptions whole() {
  DataOptions o;
  o.validation = o.test = 0;
  return o;
}

/// (text, label or the labels joined by +) of the training rows.
Pairs rows_of(const Splits& s) {
  Pairs out;
  for (const Item& item : s.train.items) {
    std::string labels;
    for (int32_t l : item.labels) labels += (labels.empty() ? "" : "+") + s.train.classes[l];
    out.emplace_back(item.text, labels);
  }
  return out;
}

Splits read(const std::string& path, const DataOptions& o = whole()) { return read_data(path, o); }

/// A table of these bytes.
Splits table(std::string_view name, std::string_view bytes, const DataOptions& o = whole()) {
  Scratch scratch;
  return read_data(scratch.put(name, bytes), o);
}

TEST_CASE("F04: a byte order mark and CRLF") {
  DataOptions o = whole();
  o.table.text = "text_a";
  o.table.labels = {"label"};
  const Splits s = read(cases + "bom_crlf.tsv", o);
  CHECK(rows_of(s) ==
        Pairs{{"fine shop", "pos"}, {"slow queue", "neg"}, {"不错", "pos"}, {"meh", "neg"}});
  CHECK(s.train.classes == std::vector<std::string>{"neg", "pos"});
}

TEST_CASE("F05: GBK read as such, refused otherwise") {
  DataOptions o = whole();
  o.encoding = "gbk";
  CHECK(rows_of(read(cases + "gbk.csv", o)) == Pairs{{"质量很好", "好评"}, {"太差了", "差评"}});
  const std::string message = error_of(Code::refused, [] { read(cases + "gbk.csv"); });
  for (const char* part : {"gbk.csv", "offset 11,", "line 2", "--encoding", "gbk would"}) {
    CHECK_THAT(message, Catch::Contains(part));
  }
  o.encoding = "nonsense";
  error_of(Code::usage, [&] { read(cases + "gbk.csv", o); });
}

TEST_CASE("encodings: converted strictly, the bad byte and its line named") {
  struct Case {
    const char* encoding;
    std::string bytes;
    std::string want;  // the text of the only row; or, for a refusal, a part of the message
    bool good;
  };
  const std::string utf16 = {"\xff\xfet\0e\0x\0t\0,\0l\0a\0b\0e\0l\0\n\0-N\x87\x65,\0x\0", 32};
  const std::vector<Case> all = {
      {"latin-1", "text,label\ncaf\xe9,x\n", "café", true},
      {"windows-1252", "text,label\n5 \x80,x\n", "5 €", true},
      {"utf-16", utf16, "中文", true},
      {"utf-8", utf16, "utf-16 would", false},
      {"utf-8", std::string("text,label\na\0b,x\n", 17), "line 2", false},
      {"gb18030", "text,label\nok,x\n\xff\xff,y\n", "offset 16, line 3", false},
      {"gbk", "text,label\nok,\xd6", "offset 14, line 2", false},
      {"utf-8", "text,label\nok,x\n\nab\xe4\xb8,y\n", "offset 19, line 4", false},
  };
  for (const Case& c : all) {
    CAPTURE(c.encoding, c.want);
    DataOptions o = whole();
    o.encoding = c.encoding;
    if (c.good) {
      CHECK(rows_of(table("t.csv", c.bytes, o)) == Pairs{{c.want, "x"}});
    } else {
      CHECK_THAT(error_of(Code::refused, [&] { table("t.csv", c.bytes, o); }),
                 Catch::Contains(c.want));
    }
  }
}

TEST_CASE("F07: TSV has no quotes; CSV has them as RFC 4180 says") {
  CHECK(rows_of(read(cases + "stray_quotes.tsv")) == Pairs{{"\"good start", "1"},
                                                           {"5\" disk", "0"},
                                                           {"say \"hi\"", "1"},
                                                           {"plain", "0"},
                                                           {"end\"", "1"}});
  const Splits s = table("t.csv", "text,label\r\n\"a, \"\"b\"\"\r\nc\",x\r\n5\" disk,y\r\n");
  CHECK(rows_of(s) == Pairs{{"a, \"b\"\r\nc", "x"}, {"5\" disk", "y"}});
  CHECK(s.train.items[1].source == "t.csv:4");
  CHECK_THAT(error_of(Code::refused, [] { table("t.csv", "text,label\na,x\n\"b,x\nc,y\n"); }),
             Catch::Contains("t.csv:3: the quote"));
}

TEST_CASE("F09: rows that cannot be used are skipped and named, refused when strict") {
  const Splits s = read(cases + "blank_rows.tsv");
  CHECK(rows_of(s) == Pairs{{"ok", "1"}, {"fine", "0"}});
  std::string said;
  for (const std::string& w : s.train.warnings) said += w + "\n";
  CHECK_THAT(said, Catch::Contains("2 rows skipped, 'text_a' is blank or missing: lines 4, 5\n"));
  CHECK_THAT(said, Catch::Contains("1 row skipped, 'label' is blank or missing: line 7\n"));
  DataOptions o = whole();
  o.strict = true;
  CHECK_THAT(error_of(Code::refused, [&] { read(cases + "blank_rows.tsv", o); }),
             Catch::Contains("blank_rows.tsv:4"));
  for (const char* file : {"header_only.tsv", "zero.tsv"}) {
    CHECK(obstacles(read(cases + file)) == std::vector<std::string>{"there are no training rows"});
  }
}

TEST_CASE("F10: labels are names; whole numbers sort as numbers") {
  const Splits s = read(cases + "label_gap.tsv");
  CHECK(s.train.classes == std::vector<std::string>{"1", "2", "5", "10"});
  CHECK(rows_of(s)[1] == std::pair<std::string, std::string>{"b", "5"});
  const Splits minus = table("t.tsv", "text\tlabel\na\t1\nb\t-1\nc\t0\n");
  CHECK(minus.train.classes == std::vector<std::string>{"-1", "0", "1"});
}

TEST_CASE("F01: classes of label columns keep the order of the columns") {
  const std::vector<std::string> order = {"zeta", "alpha", "mid"};
  const Splits guessed = read(cases + "multilabel.tsv");
  CHECK(guessed.task == "multi-label-text-classification");
  CHECK(guessed.train.classes == order);
  CHECK(rows_of(guessed)[3] == std::pair<std::string, std::string>{"t3", "zeta+alpha"});
  DataOptions o = whole();
  o.table.labels = {"mid", "alpha", "zeta"};
  CHECK(read(cases + "multilabel.tsv", o).train.classes == order);
}

TEST_CASE("several labels in one column") {
  DataOptions o = whole();
  o.task = "multi-label-text-classification";
  const Splits s = table("t.tsv", "text\tlabel\na\tx|y\nb\t\nc\ty | x|x\n", o);
  CHECK(rows_of(s) == Pairs{{"a", "x+y"}, {"b", ""}, {"c", "y+x"}});
  const Splits lists = table("t.jsonl", "{\"text\":\"a\",\"label\":[\"p, q\",\"r\"]}\n", o);
  CHECK(rows_of(lists) == Pairs{{"a", "p, q+r"}});
}

TEST_CASE("which column is which") {
  struct Case {
    const char* name;
    const char* bytes;
    DataOptions options;
    Pairs want;
    const char* text_b = "";
  };
  DataOptions named = whole();
  named.table.text = "body";
  named.table.labels = {"verdict"};
  const std::vector<Case> all = {
      {"t.tsv", "fine\t1\npoor\t0\n", whole(), {{"fine", "1"}, {"poor", "0"}}},  // PaddleHub
      {"t.tsv", "a\tb\t1\nc\td\t0\n", whole(), {{"a", "1"}, {"c", "0"}}, "b"},
      {"t.tsv", "label\ttext_a\n1\tfine\n", whole(), {{"fine", "1"}}},
      {"t.csv", "id,stars,review\n7,5,good\n8,1,bad\n", whole(), {{"good", "5"}, {"bad", "1"}}},
      {"t.csv", "comment body,points\ngood,5\nbad,1\n", whole(), {{"good", "5"}, {"bad", "1"}}},
      {"t.csv", "text;label\na, b;x\n", whole(), {{"a, b", "x"}}},
      {"t.csv", "n,verdict,body\n1,x,a\n2,y,b\n", named, {{"a", "x"}, {"b", "y"}}},
      {"t.txt", "text_a\tlabel\na\tx\n", whole(), {{"a", "x"}}},
      {"t.jsonl",
       "{\"label\":5,\"text\":\"a\"}\n\n{\"text\":\"b\",\"label\":true}\n",
       whole(),
       {{"a", "5"}, {"b", "1"}}},
  };
  for (const Case& c : all) {
    CAPTURE(c.bytes);
    const Splits s = table(c.name, c.bytes, c.options);
    CHECK(rows_of(s) == c.want);
    CHECK(s.train.items[0].text_b == c.text_b);
  }
  CHECK_THAT(error_of(Code::refused, [&] { table("t.csv", "text,label\na,x\n", named); }),
             Catch::Contains("no column 'verdict'; wanted 'text' or 'label'"));
  error_of(Code::refused, [] { table("t.tsv", "one column\nand no other\n"); });
  error_of(Code::refused, [] { table("t.csv", "text,p,q\na,b,c\nd,e,f\n"); });
}

TEST_CASE("regression reads values") {
  DataOptions o = whole();
  o.task = "regression";
  const Splits s = table("t.tsv", "text\tscore\na\t4.5\nb\tx\nc\t-1e2\nd\tnan\n", o);
  REQUIRE(s.train.items.size() == 2);
  CHECK(s.train.items[0].value == 4.5f);
  CHECK(s.train.items[1].value == -100.f);
  CHECK(s.train.warnings ==
        std::vector<std::string>{"t.tsv: 2 rows skipped, 'score' is not a number: lines 3, 5"});
}

TEST_CASE("rows with too many fields and lines that are no JSON are skipped") {
  CHECK(table("t.tsv", "text\tlabel\na\tx\tz\nb\ty\t\n").train.warnings ==
        std::vector<std::string>{"t.tsv: 1 row skipped, more than 2 fields: line 2"});
  CHECK(table("t.jsonl", "{\"text\":\"a\",\"label\":1}\n{\"text\n[1]\n").train.warnings.size() ==
        2);
  error_of(Code::refused,
           [] { table("t.tsv", "text\tlabel\n" + std::string((1 << 20) + 1, 'a') + "\tx\n"); });
}

TEST_CASE("given splits are used and share their classes") {
  Scratch scratch;
  scratch.put("train.tsv", "text_a\tlabel\na\tx\nb\ty\n");
  scratch.put("dev.tsv", "text_a\tlabel\nc\tz\n");
  scratch.put("test.tsv", "text_a\tlabel\nd\ty\n");
  const Splits s = read_data(scratch.path(), {});
  CHECK_FALSE(s.made);
  CHECK(s.train.items.size() == 2);
  CHECK(s.validation.items.size() == 1);
  CHECK(s.test.items.size() == 1);
  for (const Dataset* part : {&s.train, &s.validation, &s.test}) {
    CHECK(part->classes == std::vector<std::string>{"x", "y", "z"});
  }
  scratch.put("train.csv", "text,label\na,x\n");
  error_of(Code::refused, [&] { read_data(scratch.path(), {}); });
}

}  // namespace
}  // namespace hub
