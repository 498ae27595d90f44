// Pictures in folders, lists and IDX (F12), tagged text, SQuAD's JSON, plain text.
#include <catch2/catch.hpp>
#include <filesystem>

#include "finetune/data/data.h"
#include "modules/image.h"
#include "tests/error_of.h"
#include "tests/scratch.h"

namespace hub {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

const std::string cases = std::string(HUB_SOURCE_DIR) + "/tests/data/tables/";

DataOptions whole(std::string task = "") {
  DataOptions o;
  o.task = std::move(task);
  o.validation = o.test = 0;
  return o;
}

std::string png(int shade) {
  Image image = {2, 3, 3, std::vector<uint8_t>(18, static_cast<uint8_t>(shade))};
  return encode_png(image);
}

Words labels_of(const Dataset& d, const Item& item) {
  Words out;
  for (int32_t l : item.labels) out.push_back(d.classes[l]);
  return out;
}

TEST_CASE("F12: hidden and empty folders are no classes, 2 stands before 10") {
  Scratch scratch;
  fs::copy(cases + "folder_messy", scratch.path(), fs::copy_options::recursive);
  fs::create_directory(scratch / "empty_class");
  const Splits s = read_data(scratch.path(), whole());
  CHECK(s.train.classes == Words{"1", "2", "10"});
  CHECK(s.train.items.size() == 6);
  CHECK(s.train.warnings == Words{"empty_class has no images and is no class"});
  CHECK(s.task == "image-classification");
  CHECK_THAT(s.notes.at(0), Catch::Contains("3 hidden, 2 that are no pictures"));
  for (const Item& item : s.train.items) CHECK(item.digest.size() == 64);
}

TEST_CASE("folders of classes below train and val") {
  Scratch scratch;
  for (const char* path : {"train/a/1.png", "train/b/deeper/2.PNG", "val/a/3.png"}) {
    scratch.put(path, png(path[6]));
  }
  const Splits s = read_data(scratch.path(), {});
  CHECK(s.train.items.size() == 2);
  CHECK(s.validation.items.size() == 1);
  CHECK(s.test.items.empty());
  CHECK(s.validation.classes == Words{"a", "b"});
}

TEST_CASE("lists of images, as PaddleHub has them") {
  Scratch scratch;
  scratch.put("label_list.txt", "roses\ndaisy\n");
  scratch.put("img/my rose.png", png(1));
  scratch.put("img/d.png", png(2));
  scratch.put("train_list.txt",
              "img/my rose.png 0\n./img/d.png daisy\nimg/gone.png 1\n../x.png 0\n/etc/x.png 1\n"
              "img/d.png 2\n\nword\n");
  scratch.put("validate_list.txt", "img/d.png 1\n");
  const Splits s = read_data(scratch.path(), {});
  CHECK(s.train.classes == Words{"roses", "daisy"});
  REQUIRE(s.train.items.size() == 2);
  CHECK(s.train.items[0].file == scratch / "img/my rose.png");
  CHECK(labels_of(s.train, s.train.items[0]) == Words{"roses"});
  CHECK(labels_of(s.train, s.train.items[1]) == Words{"daisy"});
  CHECK(s.validation.items.size() == 1);
  CHECK(s.train.warnings ==
        Words{"train_list.txt: 1 row skipped, 'path label' is wanted: line 8",
              "train_list.txt: 1 row skipped, the label is not in label_list.txt: line 6",
              "train_list.txt: 2 rows skipped, the picture is not below the list's folder: lines "
              "4, 5",
              "train_list.txt: 1 row skipped, there is no such picture: line 3"});
}

std::string idx(uint8_t dimensions, std::initializer_list<uint32_t> sizes, std::string_view body) {
  std::string s = {0, 0, 8, static_cast<char>(dimensions)};
  for (uint32_t n : sizes) {
    for (int shift = 24; shift >= 0; shift -= 8) s += static_cast<char>(n >> shift);
  }
  return s.append(body);
}

TEST_CASE("IDX") {
  Scratch scratch;
  scratch.put("train-images-idx3-ubyte", idx(3, {3, 2, 2}, "aaaabbbbcccc"));
  scratch.put("train-labels-idx1-ubyte", idx(1, {3}, std::string("\x09\x00\x09", 3)));
  const Splits s = read_data(scratch.path(), whole());
  CHECK(s.train.classes == Words{"0", "9"});
  REQUIRE(s.train.items.size() == 3);
  CHECK(s.train.items[1].gray == std::vector<uint8_t>(4, 'b'));
  CHECK(s.train.items[2].labels == std::vector<int32_t>{1});
  const std::vector<std::pair<std::string, std::string>> bad = {
      {idx(3, {3, 2, 2}, "aaaabbbbccc"), "truncated"},
      {idx(3, {3, 2, 2}, "aaaabbbbccccd"), "more than it says"},
      {idx(3, {4, 2, 2}, "aaaabbbbccccdddd"), "4 pictures"},
      {idx(3, {3, 0xffffffff, 2}, ""), "limits"},
      {idx(1, {3}, "abc"), "not IDX"},
      {"", "truncated"},
  };
  for (const auto& [bytes, part] : bad) {
    scratch.put("train-images-idx3-ubyte", bytes);
    CHECK_THAT(error_of(Code::refused, [&] { read_data(scratch.path(), whole()); }),
               Catch::Contains(part));
  }
}

TEST_CASE("tagged text in three forms") {
  struct Case {
    const char* name;
    std::string bytes;
    Words tokens, tags;  // of the first sentence
    size_t sentences;
  };
  const std::vector<Case> all = {
      {"t.conll",
       "-DOCSTART- -X- O O\n\nEU NNP B-ORG\nrejects VBZ O\n\n\nPeter NNP B-PER\nalone\n",
       {"EU", "rejects"},
       {"B-ORG", "O"},
       2},
      {"t.txt", "中\tB-n\r\n国\tI-n\r\n\r\n人\tO\r\n", {"中", "国"}, {"B-n", "I-n"}, 2},
      {"t.tsv",
       "text_a\tlabel\n海\002钓\tB-v\002I-v\n他\tO\n坏\002了\tO\n",
       {"海", "钓"},
       {"B-v", "I-v"},
       2},
      {"t.txt",
       "[中央/n  电台/n]nt  １/m\n１/2/m\n",
       {"中", "央", "电", "台", "１"},
       {"B-n", "I-n", "B-n", "I-n", "B-m"},
       2},
  };
  for (const Case& c : all) {
    CAPTURE(c.bytes);
    Scratch scratch;
    const Splits s = read_data(scratch.put(c.name, c.bytes), whole());
    CHECK(s.task == "sequence-labelling");
    REQUIRE(s.train.items.size() == c.sentences);
    CHECK(s.train.items[0].tokens == c.tokens);
    CHECK(labels_of(s.train, s.train.items[0]) == c.tags);
  }
}

TEST_CASE("SQuAD: spans in code points, answers that do not stand there skipped") {
  Scratch scratch;
  const std::string path = scratch.put("train.json", R"({"version":"x","data":[{"paragraphs":[
    {"context":"北京是中国的首都。","qas":[
      {"question":"首都?","answers":[{"text":"北京","answer_start":0}]},
      {"question":"国?","answers":[{"text":"中国","answer_start":3},{"text":"x","answer_start":0}]},
      {"question":"off?","answers":[{"text":"中国","answer_start":4}]},
      {"question":"beyond?","answers":[{"text":"中国","answer_start":99}]},
      {"question":"none?","answers":[]},
      {"answers":[]}]}]}]})");
  const Splits s = read_data(path, whole());
  CHECK(s.task == "reading-comprehension");
  REQUIRE(s.train.items.size() == 3);
  CHECK(s.train.items[1].text_b == "国?");
  CHECK((s.train.items[1].start == 3 && s.train.items[1].end == 5));
  CHECK(s.train.items[2].start == -1);
  CHECK(obstacles(s).empty());
  for (const char* bad : {"[]", "{}", R"({"data":[{"paragraphs":[{"qas":[]}]}]})", "{\"data\":"}) {
    error_of(Code::refused, [&] { read_data(scratch.put("bad.json", bad), whole()); });
  }
}

TEST_CASE("plain text: a file is lines, a folder is documents") {
  Scratch scratch;
  const std::string path = scratch.put("a.txt", "one\n\n  two words\n");
  const Splits s = read_data(path, whole("language-model"));
  REQUIRE(s.train.items.size() == 2);
  CHECK(s.train.items[1].text == "  two words");
  CHECK(s.train.items[1].source == "a.txt:3");
  scratch.put("b.txt", "three");
  const Splits documents = read_data(scratch.path(), whole("language-model"));
  REQUIRE(documents.train.items.size() == 2);
  CHECK(documents.train.items[0].text == "one\n\n  two words\n");
}

TEST_CASE("what is no data set is said") {
  Scratch scratch;
  error_of(Code::not_found, [&] { read_data(scratch / "gone.csv", {}); });
  error_of(Code::refused, [&] { read_data(scratch.path(), {}); });
  error_of(Code::usage, [&] { read_data(scratch.put("x.png", png(1)), {}); });
}

}  // namespace
}  // namespace hub
