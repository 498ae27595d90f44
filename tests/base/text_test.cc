#include "base/text.h"

#include <catch2/catch.hpp>

using namespace hub;
using Words = std::vector<std::string>;
using Views = std::vector<std::string_view>;

TEST_CASE("UTF-8: what is valid, and where it stops being so") {
  for (const char* good :
       {"", "a", "\x7f", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xee\x80\x80",
        "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf", "模型"}) {
    CHECK(valid_utf8(good));
    CHECK(encode_utf8(decode_utf8(good)) == good);
  }
  // Stray and missing continuation bytes, overlong forms, surrogates, beyond U+10FFFF.
  for (const char* bad :
       {"\x80", "\xc2", "\xc2z", "\xc0\x80", "\xc1\xbf", "\xe0\x9f\xbf", "\xe2\x82", "\xed\xa0\x80",
        "\xed\xbf\xbf", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff"}) {
    CAPTURE(bad);
    CHECK(first_invalid_utf8(std::string("ok") + bad) == 2);
  }
  CHECK(valid_utf8(std::string_view("a\0b", 3)));
  CHECK(decode_utf8("a\xff\xe6\xa8\xa1") == U"a\ufffd\u6a21");
}

TEST_CASE("printable shows what a terminal would obey") {
  CHECK(printable("模型 a\x1b[2J\n\xff") == "模型 a\\x1b[2J\\x0a\\xff");
  CHECK(printable("\xc2\x9b") == "\\xc2\\x9b");
}

TEST_CASE("splitting") {
  CHECK(split("a,,b", ',') == Views{"a", "", "b"});
  CHECK(split("", ',') == Views{""});
  CHECK(lines("a\r\nb\n\nc") == Views{"a", "b", "", "c"});
  CHECK(lines("a\n") == Views{"a"});
  CHECK(lines("").empty());
  CHECK(trim(" \t a b\r\n") == "a b");
  CHECK(trim(" \n").empty());
  CHECK(lower_ascii("ÄbC") == "Äbc");
}

TEST_CASE("nearest names") {
  CHECK(edit_distance("kitten", "sitting") == 3);
  CHECK(edit_distance("", "abc") == 3);
  const Words names = {"lac", "lac-rank", "minilm-l6", "ppocr-v4"};
  CHECK(nearest("minilm_l6", names) == Words{"minilm-l6"});
  CHECK(nearest("LAC", names, 1) == Words{"lac"});
  CHECK(nearest("zzzzzz", names).empty());
  CHECK(one_of({"a"}) == "'a'");
  CHECK(one_of({"a", "b", "c"}) == "'a', 'b' or 'c'");
}
