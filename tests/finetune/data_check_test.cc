// The data check, and every reader on damaged bytes.
#include <catch2/catch.hpp>
#include <filesystem>
#include <random>

#include "finetune/data/data.h"
#include "modules/image.h"
#include "tests/error_of.h"
#include "tests/scratch.h"

namespace hub {
namespace {

using Words = std::vector<std::string>;

DataReport check(const std::string& path, const DataOptions& o = {}) {
  Silent silent;
  return check_data(read_data(path, o), silent);
}

bool said(const Words& list, const std::string& part) {
  for (const std::string& s : list) {
    if (s.find(part) != s.npos) return true;
  }
  return false;
}

TEST_CASE("counts, duplicates, conflicts, gaps and lengths") {
  Scratch scratch;
  std::string train = "text\tlabel\n";
  for (int i = 0; i < 30; ++i) train += "row number " + std::to_string(i) + "\t1\n";
  train += "short\t3\nshort\t1\nlong " + std::string(300, 'x') + "\t3\n";
  scratch.put("train.tsv", train);
  scratch.put("dev.tsv", "text\tlabel\nrow number 4\t1\nshort\t6\n");
  const DataReport r = check(scratch.path());
  CHECK(r.fails.empty());
  CHECK(r.classes == Words{"1", "3", "6"});
  REQUIRE(r.parts.size() == 3);
  CHECK(r.parts[0].class_rows == std::vector<int64_t>{31, 2, 0});
  CHECK(r.parts[1].rows == 2);
  CHECK(r.duplicates_within == 0);
  CHECK(r.duplicates_across == 2);
  CHECK(r.label_conflicts == 1);
  CHECK(r.duplicates.at(0).sources == Words{"train.tsv:32", "train.tsv:33", "dev.tsv:3"});
  CHECK(r.duplicates.at(0).conflict == "'1', '3' or '6'");
  CHECK(said(r.notes, "gaps (no 2, 4, 5)"));
  CHECK(said(r.warnings, "class '6' has no training row"));
  CHECK(said(r.warnings, "'1' has 31 training rows, '3' has 2"));
  CHECK(r.length.least == 5);
  CHECK(r.length.most == 305);
  CHECK(r.length.median == 13);
  CHECK(r.length.buckets.back() == std::pair<int64_t, int64_t>{512, 1});
  CHECK(r.encoding == "utf-8");
}

TEST_CASE("pictures that cannot be read stop the training") {
  Scratch scratch;
  const Image image = {20, 10, 3, std::vector<uint8_t>(600, 9)};
  const std::string bytes = encode_png(image);
  scratch.put("a/1.png", bytes);
  scratch.put("b/same.png", bytes);
  scratch.put("b/cut.png", bytes.substr(0, bytes.size() / 2));
  scratch.put("b/empty.jpg", "");
  const DataReport r = check(scratch.path());
  CHECK(r.unreadable.size() == 2);
  CHECK(said(r.unreadable, "b/cut.png"));
  CHECK(said(r.fails, "2 pictures cannot be read"));
  CHECK((r.width.most == 20 && r.height.most == 10));
  CHECK((r.duplicates_within == 1 && r.label_conflicts == 1));
}

TEST_CASE("data that cannot be learned from is said") {
  struct Case {
    const char* task;
    const char* bytes;
    const char* fail;
  };
  const std::vector<Case> all = {
      {"", "text\tlabel\na\tx\nb\tx\n", "every training row has the label 'x'"},
      {"", "text\tlabel\n", "no training rows"},
      {"regression", "text\tlabel\na\t2\nb\t2\n", "has the value 2"},
      {"sentence-embedding", "text\tother\na\tx\nb\ty\n", "pairs of texts"},
      {"multi-label-text-classification", "text\tp\tq\na\t0\t0\n", "no training row has a label"},
      {"", "text\tlabel\na\tx\nb\ty\n", ""},
  };
  for (const Case& c : all) {
    CAPTURE(c.bytes);
    Scratch scratch;
    DataOptions o;
    o.task = c.task;
    o.validation = o.test = 0;
    const DataReport r = check(scratch.put("t.tsv", c.bytes), o);
    if (*c.fail == '\0') {
      CHECK(r.fails.empty());
    } else {
      CHECK(said(r.fails, c.fail));
    }
  }
}

TEST_CASE("damaged bytes are refused or skipped by every reader") {
  const std::string idx_images(
      "\0\0\x08\x03\0\0\0\x02\0\0\0\x02\0\0\0\x02"
      "abcdefgh",
      24);
  const std::string idx_labels(
      "\0\0\x08\x01\0\0\0\x02"
      "\x01\x02",
      10);
  const std::vector<std::vector<std::pair<std::string, std::string>>> sets = {
      {{"t.csv", "text,label\n\"a, \"\"b\"\"\",x\n\xe4\xb8\xad,y\nc,x\n"}},
      {{"t.tsv", "text\tlabel\na\tx\n\"b\ty\n\r\nc\tz\n"}},
      {{"t.jsonl", "{\"text\":\"a\",\"label\":[1,\"x\"]}\n{\"text\":\"b\",\"label\":2.5}\n"}},
      {{"t.conll", "-DOCSTART- O\n\na B-x\nb I-x\n\nc O\n"}},
      {{"t.txt", "a\002b\tB-x\002O\nc\tO\n"}},
      {{"t.txt", "\xe4\xb8\xad/n [b/v c/m]nt\n"}},
      {{"t.json", R"({"data":[{"paragraphs":[{"context":"ab","qas":[{"question":"q","answers":[
                  {"text":"b","answer_start":1}]}]}]}]})"}},
      {{"train-images-idx3-ubyte", idx_images}, {"train-labels-idx1-ubyte", idx_labels}},
      {{"train_list.txt", "a.png 0\nb/c.png 1\n"}, {"label_list.txt", "x\ny\n"}, {"a.png", "?"}},
  };
  const std::string spice("\0\n\t\"\\,{}[]\xff\x80\x02/ 0-", 18);
  std::mt19937 random(4);
  size_t read = 0, refused = 0;
  for (const auto& files : sets) {
    for (int round = 0; round < 300; ++round) {
      Scratch scratch;
      for (const auto& [name, bytes] : files) scratch.put(name, bytes);
      auto [name, bytes] = files[random() % files.size()];
      if (round % 3 == 0) bytes.resize(random() % bytes.size());
      for (unsigned n = random() % 4; n > 0 && !bytes.empty(); --n) {
        const size_t at = random() % bytes.size();
        const char c = random() % 2 ? spice[random() % spice.size()] : static_cast<char>(random());
        if (random() % 2) {
          bytes.insert(at, 1, c);
        } else {
          bytes[at] = c;
        }
      }
      scratch.put(name, bytes);
      try {
        for (const char* encoding : {"utf-8", "gb18030", "utf-16"}) {
          DataOptions o;
          o.encoding = encoding;
          check(files.size() > 1 ? scratch.path() : scratch / name, o);
          ++read;
        }
      } catch (const Error& e) {
        ++refused;
      }
    }
  }
  CHECK(read > 300);
  CHECK(refused > 300);
}

}  // namespace
}  // namespace hub
