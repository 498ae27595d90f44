#include "modules/number_words.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/error.h"

namespace hub {
namespace {

constexpr std::string_view units[] = {"",        "one",     "two",       "three",    "four",
                                      "five",    "six",     "seven",     "eight",    "nine",
                                      "ten",     "eleven",  "twelve",    "thirteen", "fourteen",
                                      "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"};
constexpr std::string_view tens[] = {"",      "",      "twenty",  "thirty", "forty",
                                     "fifty", "sixty", "seventy", "eighty", "ninety"};
constexpr std::string_view thousands[] = {"",
                                          " thousand",
                                          " million",
                                          " billion",
                                          " trillion",
                                          " quadrillion",
                                          " quintillion",
                                          " sextillion",
                                          " septillion",
                                          " octillion",
                                          " nonillion",
                                          " decillion"};

bool digit(char c) { return c >= '0' && c <= '9'; }

std::string below_hundred(int n) {
  if (n < 20) return std::string(units[n]);
  return concat(tens[n / 10], n % 10 ? "-" : "", units[n % 10]);
}

std::string below_thousand(int n, std::string_view joint) {
  if (n < 100) return below_hundred(n);
  return concat(units[n / 100], " hundred", n % 100 ? joint : "", below_hundred(n % 100));
}

/// `joint` stands before the last one or two digits: " and " or " ".
std::string cardinal(std::string_view digits, std::string_view joint) {
  digits.remove_prefix(std::min(digits.find_first_not_of('0'), digits.size()));
  if (digits.empty()) return "zero";
  if (digits.size() > 3 * std::size(thousands))
    fail(Code::unsupported, "a number of ", digits.size(), " digits; ", 3 * std::size(thousands),
         " can be said in words");
  std::string words;
  for (size_t group = (digits.size() + 2) / 3; group-- > 0;) {
    const size_t end = digits.size() - 3 * group, begin = end < 3 ? 0 : end - 3;
    int n = 0;
    for (const char c : digits.substr(begin, end - begin)) n = 10 * n + (c - '0');
    if (n == 0) continue;
    if (!words.empty()) words += group == 0 && n < 100 ? joint : ", ";
    words += concat(below_thousand(n, joint), thousands[group]);
  }
  return words;
}

std::string ordinal(std::string_view digits) {
  constexpr std::pair<std::string_view, std::string_view> endings[] = {
      {"ty", "tieth"},   {"one", "first"},    {"two", "second"}, {"three", "third"},
      {"five", "fifth"}, {"eight", "eighth"}, {"nine", "ninth"}, {"twelve", "twelfth"}};
  std::string words = cardinal(digits, " and ");
  for (const auto& [end, instead] : endings) {
    if (!words.ends_with(end)) continue;
    return words.replace(words.size() - end.size(), end.size(), instead);
  }
  return words + "th";
}

/// Years are said in pairs of digits.
std::string spoken(std::string_view digits) {
  digits.remove_prefix(std::min(digits.find_first_not_of('0'), digits.size()));
  if (digits.size() != 4 || digits[0] > '2' || digits == "1000") return cardinal(digits, " ");
  const int n = std::stoi(std::string(digits)), high = n / 100, low = n % 100;
  if (n == 2000) return "two thousand";
  if (n > 2000 && n < 2010) return concat("two thousand ", below_hundred(low));
  if (low == 0) return concat(below_hundred(high), " hundred");
  return concat(below_hundred(high), low < 10 ? " oh " : " ", below_hundred(low));
}

/// "2.50" as an amount of dollars, its numbers still in digits.
std::string dollars(std::string_view amount) {
  std::string clean(amount);
  std::erase(clean, ',');
  const size_t point = clean.find('.');
  if (point != clean.rfind('.')) return clean + " dollars";
  const auto number = [](std::string part) {
    part.erase(0, std::min(part.find_first_not_of('0'), part.size()));
    return part;
  };
  const auto counted = [](const std::string& n, const char* unit) {
    return concat(n, " ", unit, n == "1" ? "" : "s");
  };
  const std::string whole = number(clean.substr(0, point));
  const std::string cents = point == std::string::npos ? "" : number(clean.substr(point + 1));
  if (!whole.empty() && !cents.empty())
    return concat(counted(whole, "dollar"), ", ", counted(cents, "cent"));
  if (!whole.empty()) return counted(whole, "dollar");
  if (!cents.empty()) return counted(cents, "cent");
  return "zero dollars";
}

/// The text with `say(rest)` in place of what it takes from the front of the rest, where it takes
/// anything.
struct Rewritten {
  size_t taken;
  std::string words;
};
template <class Say>
std::string replaced(std::string_view text, const Say& say) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const std::optional<Rewritten> said = say(text.substr(at));
    if (said) out += said->words;
    if (!said) out += text[at];
    at += said ? said->taken : 1;
  }
  return out;
}

/// How long a run of digits and `also` at the front is; it ends with a digit.
size_t run(std::string_view text, std::string_view also) {
  size_t end = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (digit(text[i])) end = i + 1;
    if (!digit(text[i]) && also.find(text[i]) == std::string_view::npos) break;
  }
  return end;
}

std::optional<Rewritten> without_commas(std::string_view text) {
  if (!digit(text[0])) return {};
  const size_t size = run(text, ",");
  std::string digits(text.substr(0, size));
  std::erase(digits, ',');
  return Rewritten{size, digits};
}

std::optional<Rewritten> with_pounds(std::string_view text) {
  constexpr std::string_view sign = "£";
  if (!text.starts_with(sign)) return {};
  const size_t size = run(text.substr(sign.size()), ",");
  if (size == 0) return {};
  return Rewritten{sign.size() + size, concat(text.substr(sign.size(), size), " pounds")};
}

std::optional<Rewritten> with_dollars(std::string_view text) {
  if (text[0] != '$') return {};
  const size_t size = run(text.substr(1), ".,");
  if (size == 0) return {};
  return Rewritten{1 + size, dollars(text.substr(1, size))};
}

std::optional<Rewritten> with_point(std::string_view text) {
  const size_t whole = digit(text[0]) ? run(text, "") : 0;
  if (whole == 0) return {};
  std::string words(text.substr(0, whole));
  if (whole == text.size() || text[whole] != '.') return Rewritten{whole, words};
  const size_t part = run(text.substr(whole + 1), "");
  if (part == 0) return Rewritten{whole, words};
  return Rewritten{whole + 1 + part, concat(words, " point ", text.substr(whole + 1, part))};
}

std::optional<Rewritten> with_ordinals(std::string_view text) {
  const size_t size = digit(text[0]) ? run(text, "") : 0;
  if (size == 0) return {};
  for (const std::string_view ending : {"st", "nd", "rd", "th"}) {
    if (text.substr(size).starts_with(ending))
      return Rewritten{size + ending.size(), ordinal(text.substr(0, size))};
  }
  return Rewritten{size, std::string(text.substr(0, size))};
}

std::optional<Rewritten> with_words(std::string_view text) {
  const size_t size = digit(text[0]) ? run(text, "") : 0;
  if (size == 0) return {};
  return Rewritten{size, spoken(text.substr(0, size))};
}

}  // namespace

std::string with_numbers_as_words(std::string_view text) {
  std::string out(text);
  for (const auto rule :
       {without_commas, with_pounds, with_dollars, with_point, with_ordinals, with_words})
    out = replaced(out, rule);
  return out;
}

}  // namespace hub
