#include "runtime/ops/text.h"

#include <charconv>

#include "base/text.h"
#include "runtime/ops/kernel.h"

namespace hub {
namespace {

/// The fewest digits, "d.ddde±xx", that give the number back.
template <class T>
std::string shortest(T value) {
  char text[64];
  if constexpr (std::is_floating_point_v<T>) {
    const auto end = std::to_chars(text, text + sizeof text, value, std::chars_format::scientific);
    return {text, end.ptr};
  } else {
    const float wide = value;
    for (int digits = 0;; ++digits) {
      const auto end =
          std::to_chars(text, text + sizeof text, wide, std::chars_format::scientific, digits);
      float read = 0;
      std::from_chars(text, end.ptr, read);
      if (T(read).bits == value.bits || digits == 8) return {text, end.ptr};
    }
  }
}

/// Written out from 0.0001 to 10^16, otherwise with an exponent of two digits or more.
template <class T>
std::string text_of(T value) {
  if constexpr (std::is_same_v<T, bool>) {
    return value ? "True" : "False";
  } else if constexpr (std::is_integral_v<T>) {
    return std::to_string(value);
  } else {
    const auto wide = static_cast<wide_t<T>>(value);
    if (std::isnan(wide)) return "nan";
    if (std::isinf(wide)) return wide < 0 ? "-inf" : "inf";
    if (wide == 0) return std::signbit(wide) ? "-0.0" : "0.0";
    const std::string scientific = shortest(value);
    const size_t e = scientific.find('e');
    const std::string sign = wide < 0 ? "-" : "";
    std::string digits;
    for (char c : scientific.substr(0, e))
      if (c >= '0' && c <= '9') digits += c;
    while (digits.size() > 1 && digits.back() == '0') digits.pop_back();
    const int exponent = std::stoi(scientific.substr(e + 1));
    const auto size = static_cast<int>(digits.size());
    if (exponent < -4 || exponent >= 16) {
      std::string rest = digits.substr(1);
      if (!rest.empty()) rest.insert(rest.begin(), '.');
      const std::string power = std::to_string(std::abs(exponent));
      return concat(sign, digits.substr(0, 1), rest, exponent < 0 ? "e-" : "e+",
                    power.size() < 2 ? "0" : "", power);
    }
    if (exponent < 0)
      return concat(sign, "0.", std::string(static_cast<size_t>(-exponent - 1), '0'), digits);
    if (size <= exponent + 1) digits.append(static_cast<size_t>(exponent + 1 - size), '0');
    const auto point = static_cast<size_t>(exponent + 1);
    const std::string fraction = digits.substr(point);
    return concat(sign, digits.substr(0, point), ".", fraction.empty() ? "0" : fraction);
  }
}

template <class T>
bool parse(std::string_view text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return end == text.data() + text.size() && error == std::errc();
}

/// A number that is too large or too small for the type is the infinity or zero next to it.
template <class T>
bool parse_float(std::string_view text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end != text.data() + text.size() || error == std::errc::invalid_argument) return false;
  if (error == std::errc::result_out_of_range)
    value = std::strtold(std::string(text).c_str(), nullptr);
  return true;
}

template <class T>
T number_of(const std::string& text) {
  std::string_view t = trim(text);
  if (t.starts_with('+') && !t.starts_with("+-")) t.remove_prefix(1);
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    T whole = 0;
    if (parse(t, whole)) return whole;
  }
  wide_t<std::conditional_t<is_float<T>, T, double>> value = 0;
  if (t.empty() || !parse_float(t, value))
    fail(Code::refused, "'", printable(text.substr(0, 40)), "' is no number");
  return convert<T>(value);
}

}  // namespace

void cast_text(const Tensor& x, Tensor& y) {
  const auto n = static_cast<size_t>(x.numel());
  if (y.dtype() == DType::string) {
    dispatch(Everything{}, x.dtype(), [&]<class T>() {
      for (size_t i = 0; i < n; ++i) y.data<std::string>()[i] = text_of(x.data<T>()[i]);
    });
  } else {
    dispatch(Everything{}, y.dtype(), [&]<class T>() {
      for (size_t i = 0; i < n; ++i) y.data<T>()[i] = number_of<T>(x.data<std::string>()[i]);
    });
  }
}

}  // namespace hub
