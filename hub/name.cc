#include "hub/name.h"

#include <charconv>

#include "base/error.h"
#include "base/text.h"

namespace hub {
namespace {

constexpr size_t max_name = 64, max_version = 64;

bool digit(char c) { return c >= '0' && c <= '9'; }
bool small(char c) { return c >= 'a' && c <= 'z'; }
bool big(char c) { return c >= 'A' && c <= 'Z'; }

/// What is wrong with a module's name; "" for nothing.
std::string_view name_fault(std::string_view s) {
  if (s.empty()) return "it is empty";
  if (s.size() > max_name) return "it is longer than 64 bytes";
  if (!small(s.front())) return "it does not start with a small letter";
  for (char c : s) {
    if (!small(c) && !digit(c) && c != '-') return "only a-z, 0-9 and '-' are allowed";
  }
  if (s.back() == '-' || s.find("--") != s.npos) return "every '-' stands between two parts";
  return "";
}

/// The numbers of "1.2.3"; nothing when one is missing, too large or has a leading zero.
std::vector<uint64_t> numbers_of(std::string_view core) {
  std::vector<uint64_t> numbers;
  for (std::string_view part : split(core, '.')) {
    uint64_t n = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), n);
    const bool leading_zero = part.size() > 1 && part.front() == '0';
    if (part.empty() || leading_zero || error != std::errc() || end != part.data() + part.size()) {
      return {};
    }
    numbers.push_back(n);
  }
  return numbers;
}

bool all_digits(std::string_view s) {
  for (char c : s) {
    if (!digit(c)) return false;
  }
  return true;
}

/// Two pre-release identifiers: numbers by value and before words, words by ASCII.
std::strong_ordering compare_identifiers(const std::string& a, const std::string& b) {
  const bool a_number = all_digits(a), b_number = all_digits(b);
  if (a_number != b_number) {
    return a_number ? std::strong_ordering::less : std::strong_ordering::greater;
  }
  if (a_number && a.size() != b.size()) return a.size() <=> b.size();
  return a <=> b;
}

}  // namespace

ModuleName ModuleName::parse(std::string_view text) {
  const std::string_view fault = name_fault(text);
  if (fault.empty()) return ModuleName(std::string(text));
  std::string right = lower_ascii(text);
  for (char& c : right) {
    if (c == '_' || c == ' ' || c == '.') c = '-';
  }
  std::string hint;
  if (name_fault(right).empty()) hint = concat("; did you mean '", right, "'?");
  fail(Code::refused, "'", printable(text.substr(0, 80)), "' is not the name of a module: ", fault,
       hint);
}

Version Version::parse(std::string_view text) {
  auto refuse = [&](std::string_view why) {
    fail(Code::refused, "'", printable(text.substr(0, 80)), "' is not a version: ", why);
  };
  if (text.size() > max_version) refuse("it is longer than 64 bytes");
  if (text.find('+') != text.npos) refuse("a build part ('+…') is not allowed");
  const size_t dash = text.find('-');
  const auto numbers = numbers_of(text.substr(0, dash));
  if (numbers.size() != 3) refuse("MAJOR.MINOR.PATCH is wanted, as in 1.2.0");
  Version v;
  v.text_ = text;
  for (size_t i = 0; i < 3; ++i) v.numbers_[i] = numbers[i];
  if (dash == text.npos) return v;
  for (std::string_view part : split(text.substr(dash + 1), '.')) {
    if (part.empty()) refuse("a part of the pre-release is empty");
    for (char c : part) {
      if (!digit(c) && !small(c) && !big(c) && c != '-') {
        refuse("a pre-release holds only a-z, A-Z, 0-9, '-' and '.'");
      }
    }
    if (all_digits(part) && part.size() > 1 && part.front() == '0') {
      refuse("a number of the pre-release has a leading zero");
    }
    v.pre_.emplace_back(part);
  }
  return v;
}

std::strong_ordering Version::operator<=>(const Version& other) const {
  for (size_t i = 0; i < 3; ++i) {
    if (numbers_[i] != other.numbers_[i]) return numbers_[i] <=> other.numbers_[i];
  }
  if (pre_.empty() != other.pre_.empty()) {
    return pre_.empty() ? std::strong_ordering::greater : std::strong_ordering::less;
  }
  for (size_t i = 0; i < pre_.size() && i < other.pre_.size(); ++i) {
    const auto order = compare_identifiers(pre_[i], other.pre_[i]);
    if (order != 0) return order;
  }
  return pre_.size() <=> other.pre_.size();
}

Request Request::parse(std::string_view text) {
  std::string_view name = text, version;
  bool pinned = false;
  for (std::string_view mark : {"@", "=="}) {
    const size_t at = text.find(mark);
    if (at == text.npos) continue;
    name = text.substr(0, at);
    version = text.substr(at + mark.size());
    pinned = true;
    break;
  }
  try {
    Request request{ModuleName::parse(name), std::nullopt};
    if (pinned && version != "latest") request.version = Version::parse(version);
    return request;
  } catch (const Error& e) {
    fail(Code::usage, e.what());
  }
}

std::string Request::str() const {
  return version ? concat(name.str(), "@", version->str()) : name.str();
}

VersionRange VersionRange::parse(std::string_view text) {
  VersionRange range;
  range.text_ = text;
  for (std::string_view part : split(text, ' ')) {
    if (part.empty()) continue;
    const size_t at = part.find_first_not_of("<>=");
    const std::string op(part.substr(0, at));
    std::string version(at == part.npos ? "" : part.substr(at));
    const bool known = op == ">=" || op == ">" || op == "<=" || op == "<" || op == "==";
    if (!known || version.empty() || text.size() > 256) {
      fail(Code::refused, "'", printable(text.substr(0, 80)),
           "' is not a condition on a version: '>=1.2', '<2' or several of them are wanted");
    }
    if (version.find('-') == version.npos) {
      for (size_t dots = split(version, '.').size(); dots < 3; ++dots) version += ".0";
    }
    range.conditions_.emplace_back(op, Version::parse(version));
  }
  if (range.conditions_.empty()) fail(Code::refused, "a condition on a version is empty");
  return range;
}

bool VersionRange::contains(const Version& version) const {
  for (const auto& [op, bound] : conditions_) {
    const auto order = version <=> bound;
    const bool fits = op == ">="   ? order >= 0
                      : op == ">"  ? order > 0
                      : op == "<=" ? order <= 0
                      : op == "<"  ? order < 0
                                   : order == 0;
    if (!fits) return false;
  }
  return true;
}

}  // namespace hub
