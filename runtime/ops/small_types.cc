#include "runtime/ops/small_types.h"

#include "runtime/ops/kernel.h"

namespace hub {
namespace {

/// With `unsigned_zero` (the fnuz types) the byte of -0 is NaN, and there is no infinity.
struct Format {
  int mantissa, bias;
  int largest;   ///< byte of the largest finite number
  int infinity;  ///< the byte, or -1
  int nan;
  bool unsigned_zero;
};

Format format_of(DType dtype) {
  switch (dtype) {
    case DType::f8e4m3: return {3, 7, 0x7e, -1, 0x7f, false};
    case DType::f8e4m3fnuz: return {3, 8, 0x7f, -1, 0x80, true};
    case DType::f8e5m2: return {2, 15, 0x7b, 0x7c, 0x7f, false};
    default: return {2, 16, 0x7f, -1, 0x80, true};
  }
}

double value_of(int magnitude, const Format& f) {
  const int exponent = magnitude >> f.mantissa;
  const int fraction = magnitude & ((1 << f.mantissa) - 1);
  if (exponent == 0) return std::ldexp(fraction, 1 - f.bias - f.mantissa);
  return std::ldexp(fraction + (1 << f.mantissa), exponent - f.bias - f.mantissa);
}

}  // namespace

bool is_float8(DType d) {
  return d == DType::f8e4m3 || d == DType::f8e4m3fnuz || d == DType::f8e5m2 ||
         d == DType::f8e5m2fnuz;
}
bool is_small(DType d) { return is_float8(d) || d == DType::i4 || d == DType::u4; }

double from_small(DType dtype, uint8_t byte) {
  if (dtype == DType::i4) return static_cast<int8_t>(byte);
  if (dtype == DType::u4) return byte;
  const Format f = format_of(dtype);
  const int magnitude = byte & 0x7f;
  const double sign = (byte & 0x80) != 0 ? -1 : 1;
  if (f.unsigned_zero && byte == f.nan) return std::numeric_limits<double>::quiet_NaN();
  if (magnitude <= f.largest) return sign * value_of(magnitude, f);
  if (magnitude == f.infinity) return sign * std::numeric_limits<double>::infinity();
  return std::numeric_limits<double>::quiet_NaN();
}

uint8_t to_small(DType dtype, double value, bool saturate) {
  if (dtype == DType::i4)
    return static_cast<uint8_t>(std::clamp<int>(convert<int8_t>(value), -8, 7));
  if (dtype == DType::u4) return std::min<uint8_t>(convert<uint8_t>(value), 15);
  const Format f = format_of(dtype);
  if (std::isnan(value)) return static_cast<uint8_t>(f.nan);
  const int sign = std::signbit(value) ? 0x80 : 0;
  const double size = std::fabs(value);
  int code = f.largest + 1;
  if (size < std::ldexp(1.0, 30)) {
    const int exponent = std::max(size == 0 ? 0 : std::ilogb(size), 1 - f.bias);
    // Units of the last place; a carry into the next exponent is one in the code too.
    const auto steps = static_cast<int>(std::nearbyint(std::ldexp(size, f.mantissa - exponent)));
    code = ((exponent + f.bias - 1) << f.mantissa) + steps;
    if (size == 0) code = 0;
  }
  if (code > f.largest) {
    if (saturate) return static_cast<uint8_t>(sign | f.largest);
    return static_cast<uint8_t>(f.infinity >= 0   ? sign | f.infinity
                                : f.unsigned_zero ? f.nan
                                                  : sign | f.nan);
  }
  if (code == 0 && f.unsigned_zero) return 0;
  return static_cast<uint8_t>(sign | code);
}

std::vector<double> numbers_of(const Tensor& t) {
  std::vector<double> out(static_cast<size_t>(t.numel()));
  if (is_small(t.dtype())) {
    for (size_t i = 0; i < out.size(); ++i) out[i] = from_small(t.dtype(), t.data<uint8_t>()[i]);
    return out;
  }
  dispatch(Everything{}, t.dtype(), [&]<class T>() {
    for (size_t i = 0; i < out.size(); ++i)
      out[i] = static_cast<double>(static_cast<wide_t<T>>(t.data<T>()[i]));
  });
  return out;
}

void set_numbers(Tensor& y, const std::vector<double>& numbers, bool saturate) {
  if (is_small(y.dtype())) {
    for (size_t i = 0; i < numbers.size(); ++i)
      y.data<uint8_t>()[i] = to_small(y.dtype(), numbers[i], saturate);
    return;
  }
  dispatch(Everything{}, y.dtype(), [&]<class T>() {
    for (size_t i = 0; i < numbers.size(); ++i) {
      if constexpr (is_float<T>) {
        y.data<T>()[i] = static_cast<T>(static_cast<wide_t<T>>(numbers[i]));
      } else {
        y.data<T>()[i] = convert<T>(numbers[i]);
      }
    }
  });
}

}  // namespace hub
