#include "finetune/search/space.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "base/error.h"
#include "base/text.h"

namespace hub {
namespace {

[[noreturn]] void unclear(std::string_view part) {
  fail(Code::usage, "'", printable(part),
       "' is not understood; wanted NAME=LOW:HIGH, "
       "NAME=LOW:HIGH:log or NAME=A|B|C");
}

double bound(std::string_view word, std::string_view part) {
  const std::string text(word);
  char* end = nullptr;
  const double v = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != 0 || !std::isfinite(v)) unclear(part);
  return v;
}

bool digits(std::string_view word) {
  return !word.empty() && word.find_first_not_of("0123456789") == word.npos;
}

}  // namespace

Space::Dimension Space::read(std::string_view part) {
  Dimension d;
  const size_t equals = part.find('=');
  if (equals == part.npos || equals == 0) unclear(part);
  d.name = part.substr(0, equals);
  const std::string_view values = part.substr(equals + 1);
  const auto words = split(values, ':');
  if (words.size() == 1) {
    for (std::string_view choice : split(values, '|')) {
      if (choice.empty()) unclear(part);
      d.choices.emplace_back(choice);
    }
    return d;
  }
  if (words.size() > 3 || (words.size() == 3 && words[2] != "log")) unclear(part);
  d.low = bound(words[0], part);
  d.high = bound(words[1], part);
  d.log = words.size() == 3;
  d.whole = digits(words[0]) && digits(words[1]);
  if (!(d.low < d.high))
    fail(Code::usage, "'", printable(part), "': the low bound is not below the high one");
  if (d.log && d.low <= 0)
    fail(Code::usage, "'", printable(part), "': a logarithmic range begins above 0");
  return d;
}

Space::Space(std::string_view text) {
  for (std::string_view part : split(text, ',')) {
    dimensions_.push_back(read(part));
    for (size_t i = 0; i + 1 < dimensions_.size(); ++i)
      if (dimensions_[i].name == dimensions_.back().name)
        fail(Code::usage, "'", printable(dimensions_[i].name), "' stands twice in what is varied");
  }
}

std::vector<std::string> Space::names() const {
  std::vector<std::string> all;
  for (const Dimension& d : dimensions_) all.push_back(d.name);
  return all;
}

Pairs Space::at(std::span<const double> point) const {
  Pairs all;
  for (size_t i = 0; i < dimensions_.size(); ++i) {
    const Dimension& d = dimensions_[i];
    const double u = std::clamp(point[i], 0.0, 1.0);
    if (!d.choices.empty()) {
      const auto n = static_cast<double>(d.choices.size());
      all.emplace_back(d.name, d.choices[static_cast<size_t>(std::min(u * n, n - 1))]);
      continue;
    }
    // Whole values get shares of equal width, the bounds too.
    const double low = d.whole ? d.low - 0.5 : d.low, high = d.whole ? d.high + 0.5 : d.high;
    double v = d.log ? low * std::pow(high / low, u) : low + (high - low) * u;
    if (d.whole) v = std::clamp(std::round(v), d.low, d.high);
    char word[32];
    std::snprintf(word, sizeof word, "%.6g", v);
    all.emplace_back(d.name, word);
  }
  return all;
}

}  // namespace hub
