// English texts made ready to be said, against g2p-en 2.1.0 with inflect and NLTK's tokenizer.
#include "modules/english_words.h"

#include <catch2/catch.hpp>

#include "modules/number_words.h"
#include "tests/error_of.h"

using namespace hub;

TEST_CASE("numbers are written out as the package does it") {
  const std::pair<const char*, const char*> rows[] = {
      {"0 1 7 10 12 20 21 99", "zero one seven ten twelve twenty twenty-one ninety-nine"},
      {"100 101 110 999", "one hundred one hundred one one hundred ten nine hundred ninety-nine"},
      {"1000 1001 1100 1905 1984 2000 2005 2010 2019 2999 3000",
       "one thousand ten oh one eleven hundred nineteen oh five nineteen eighty-four two thousand "
       "two thousand five twenty ten twenty nineteen twenty-nine ninety-nine three thousand"},
      {"12,345,678",
       "twelve million, three hundred forty-five thousand, six hundred seventy-eight"},
      {"1000000 2000005 1234567890",
       "one million two million five one billion, two hundred thirty-four million, five hundred "
       "sixty-seven thousand, eight hundred ninety"},
      {"$2.50 $1 $0.01 $1.01 $0 $.5 $5. $1.2.3",
       "two dollars, fifty cents one dollar one cent one dollar, one cent zero dollars five cents "
       "five dollars. one point two.three dollars"},
      {"£1,000 £", "one thousand pounds £"},
      {"3.14 10.5.", "three point fourteen ten point five."},
      {"1st 2nd 3rd 4th 5th 8th 9th 12th 20th 21st 100th 101st 1000th 1,001st 0th",
       "first second third fourth fifth eighth ninth twelfth twentieth twenty-first one hundredth "
       "one hundred and first one thousandth one thousand and first zeroth"},
      {"007 0012th", "seven twelfth"},
      {"5,6 ,7, 1,,2", "fifty-six ,seven, twelve"},
  };
  for (const auto& [text, wanted] : rows) CHECK(with_numbers_as_words(text) == wanted);
  CHECK_THAT(error_of(Code::unsupported, [] { with_numbers_as_words(std::string(37, '9')); }),
             Catch::Contains("37 digits"));
  CHECK(with_numbers_as_words(std::string(40, '0') + "5") == "five");
}

TEST_CASE("English is cut into words as the package does it") {
  using Words = std::vector<std::string>;
  const std::pair<const char*, Words> rows[] = {
      {"", {}},
      {"It's well-known", {"it's", "well-known"}},
      {"Café, naïve (E.G. x)!", {"cafe", ",", "naive", "for", "example", "x", "!"}},
      {"rock'n' -- a' 'b", {"rock'n", "'", "-", "-", "a", "'", "'", "b"}},
      {"Wait..... . .what?!?", {"wait", "... . .", "what", "?", "!", "?"}},
      {"see example.com. end.Then x.y", {"see", "example.com", ".", "end.then", "x", ".", "y"}},
      {"日本 ok", {"ok"}}};
  for (const auto& [text, wanted] : rows) CHECK(english_words(text) == wanted);
}
