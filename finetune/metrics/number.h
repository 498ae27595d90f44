// Numbers as a person reads them, the same in every locale.
#pragma once

#include <cstdint>
#include <string>

namespace hub {

/// So many significant digits, without trailing zeros: "0.8312", "1e-05", "nan".
std::string number_text(double value, int digits = 4);
/// "0.830": so many digits after the point.
std::string fixed_text(double value, int decimals = 3);
/// "1,234,567"
std::string count_text(int64_t count);

}  // namespace hub
