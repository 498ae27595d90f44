#include "finetune/metrics/number.h"

#include <charconv>
#include <cmath>

namespace hub {
namespace {

std::string text_of(double value, std::chars_format format, int digits) {
  if (std::isnan(value)) return "nan";
  char buffer[400];  // 1e308 with all its digits
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value, format, digits).ptr;
  return {buffer, end};
}

}  // namespace

std::string number_text(double value, int digits) {
  return text_of(value, std::chars_format::general, digits);
}

std::string fixed_text(double value, int decimals) {
  return text_of(value, std::chars_format::fixed, decimals);
}

std::string count_text(int64_t count) {
  std::string text = std::to_string(count);
  for (size_t at = text.size(); at > 3 + (count < 0 ? 1U : 0U);) text.insert(at -= 3, 1, ',');
  return text;
}

}  // namespace hub
