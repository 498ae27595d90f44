#include "runtime/tensor.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>

#include "base/error.h"
#include "runtime/budget.h"

namespace hub {
namespace {

struct DTypeInfo {
  DType dtype;
  std::string_view name;
  size_t size;
};
constexpr DTypeInfo infos[] = {{DType::none, "none", 0},
                               {DType::f32, "float32", 4},
                               {DType::f64, "float64", 8},
                               {DType::f16, "float16", 2},
                               {DType::bf16, "bfloat16", 2},
                               {DType::i8, "int8", 1},
                               {DType::i16, "int16", 2},
                               {DType::i32, "int32", 4},
                               {DType::i64, "int64", 8},
                               {DType::u8, "uint8", 1},
                               {DType::u16, "uint16", 2},
                               {DType::u32, "uint32", 4},
                               {DType::u64, "uint64", 8},
                               {DType::boolean, "bool", 1},
                               {DType::f8e4m3, "float8_e4m3fn", 1},
                               {DType::f8e4m3fnuz, "float8_e4m3fnuz", 1},
                               {DType::f8e5m2, "float8_e5m2", 1},
                               {DType::f8e5m2fnuz, "float8_e5m2fnuz", 1},
                               {DType::i4, "int4", 1},
                               {DType::u4, "uint4", 1},
                               {DType::string, "string", sizeof(std::string)},
                               {DType::list, "list", sizeof(std::vector<Tensor>)}};

/// Strings and lists are built one by one; a file that asks for more is refused.
constexpr size_t most_object_bytes = size_t{1} << 32;

std::shared_ptr<void> charge_for(const Spec& spec, size_t bytes) {
  try {
    return charge_memory(bytes);
  } catch (const Error& e) {
    fail(e.code(), "no memory for ", spec.str(), ": ", e.what());
  }
}

}  // namespace

size_t size_of(DType dtype) { return infos[static_cast<size_t>(dtype)].size; }
std::string_view name_of(DType dtype) { return infos[static_cast<size_t>(dtype)].name; }
DType dtype_named(std::string_view name) {
  for (const auto& i : infos) {
    if (i.name == name) return i.dtype;
  }
  return DType::none;
}

Shape::Shape(std::span<const int64_t> dims) {
  for (int64_t d : dims) push_back(d);
}

void Shape::push_back(int64_t dim) {
  if (rank_ == max_rank) fail(Code::unsupported, "a tensor of more than ", max_rank, " dimensions");
  dims_[rank_++] = dim;
}

int64_t Shape::numel() const { return numel(0, rank_); }

int64_t Shape::numel(size_t from, size_t to) const {
  // Also where there are no elements: so the sum of two dimensions, or one times a stride, is a
  // number.
  constexpr int64_t longest = int64_t{1} << 46;
  int64_t n = 1;
  for (size_t i = from; i < to; ++i) {
    if (dims_[i] < 0) fail(Code::refused, "shape ", str(), " has an unknown or negative dimension");
    if (dims_[i] > longest || __builtin_mul_overflow(n, dims_[i], &n) || n > (int64_t{1} << 62)) {
      fail(Code::refused, "shape ", str(), " has more elements than can be addressed");
    }
  }
  return n;
}

bool Shape::known() const {
  for (int64_t d : *this) {
    if (d < 0) return false;
  }
  return true;
}

std::string Shape::str() const {
  std::string s = "[";
  for (size_t i = 0; i < rank_; ++i) {
    if (i > 0) s += ", ";
    s += dims_[i] < 0 ? "?" : std::to_string(dims_[i]);
  }
  return s + "]";
}

bool Shape::operator==(const Shape& other) const {
  return rank_ == other.rank_ && std::equal(begin(), end(), other.begin());
}

std::string Spec::str() const { return concat(name_of(dtype), shape.str()); }

size_t bytes_of(const Spec& spec) {
  int64_t bytes = 0;
  if (__builtin_mul_overflow(spec.shape.numel(), static_cast<int64_t>(size_of(spec.dtype)),
                             &bytes)) {
    fail(Code::refused, spec.str(), " has more bytes than can be addressed");
  }
  return static_cast<size_t>(bytes);
}

Tensor::Tensor(DType dtype, const Shape& shape) : dtype_(dtype), shape_(shape) {
  const size_t bytes = bytes_of(spec());
  std::shared_ptr<void> charge = charge_for(spec(), bytes);
  if (dtype == DType::string || dtype == DType::list) {
    if (bytes > most_object_bytes) fail(Code::refused, "no memory for ", spec().str());
    if (dtype == DType::string)
      own(std::shared_ptr<std::string[]>(new std::string[bytes / sizeof(std::string)]));
    else
      own(std::shared_ptr<std::vector<Tensor>[]>(new std::vector<Tensor>[1]));
    if (charge)
      owner_ = std::shared_ptr<const void>(
          owner_.get(), [kept = owner_, charge](const void*) mutable { kept.reset(); });
    return;
  }
  data_ = std::aligned_alloc(64, (bytes + 64) / 64 * 64);
  if (data_ == nullptr) fail(Code::refused, "no memory for ", spec().str(), " (", bytes, " bytes)");
  owner_ = std::shared_ptr<const void>(
      data_, [charge = std::move(charge)](const void* p) { std::free(const_cast<void*>(p)); });
}

Tensor::Tensor(DType dtype, const Shape& shape, std::shared_ptr<const void> owner, const void* data)
    : dtype_(dtype), shape_(shape), owner_(std::move(owner)), data_(const_cast<void*>(data)) {}

Tensor Tensor::floats(const Shape& shape, const std::vector<float>& values) {
  return of<float>(shape, std::span(values));
}
Tensor Tensor::ints(const std::vector<int64_t>& values) {
  return of<int64_t>({static_cast<int64_t>(values.size())}, std::span(values));
}
Tensor Tensor::scalar(float value) { return floats({}, {value}); }

Tensor Tensor::strings(const Shape& shape, std::vector<std::string> values) {
  Tensor t(DType::string, shape);
  for (size_t i = 0; i < values.size() && i < static_cast<size_t>(t.numel()); ++i)
    t.data<std::string>()[i] = std::move(values[i]);
  return t;
}

Tensor Tensor::list(std::vector<Tensor> items) {
  Tensor t(DType::list, {});
  *t.data<std::vector<Tensor>>() = std::move(items);
  return t;
}

const std::vector<Tensor>& Tensor::items() const {
  if (dtype_ != DType::list)
    fail(Code::refused, "a list is wanted where ", spec().str(), " was found");
  return *data<std::vector<Tensor>>();
}

Tensor Tensor::reshaped(const Shape& shape) const {
  if (shape.numel() != numel())
    fail(Code::refused, "cannot see ", shape_.str(), " as ", shape.str());
  Tensor t = *this;
  t.shape_ = shape;
  return t;
}

Tensor Tensor::clone() const {
  Tensor t(dtype_, shape_);
  if (dtype_ == DType::list) *t.data<std::vector<Tensor>>() = items();
  if (dtype_ == DType::string) std::copy_n(data<std::string>(), numel(), t.data<std::string>());
  if (is_plain(dtype_)) std::memcpy(t.data_, data_, bytes());
  return t;
}

namespace {

template <class To>
std::vector<To> convert(const Tensor& t) {
  const auto n = static_cast<size_t>(t.numel());
  std::vector<To> out(n);
  auto copy = [&]<class T>(const T* p) {
    for (size_t i = 0; i < n; ++i) out[i] = static_cast<To>(p[i]);
  };
  switch (t.dtype()) {
    case DType::f32: copy(t.data<float>()); break;
    case DType::f64: copy(t.data<double>()); break;
    case DType::f16:
      for (size_t i = 0; i < n; ++i) out[i] = static_cast<To>(half_to_float(t.data<uint16_t>()[i]));
      break;
    case DType::bf16:
      for (size_t i = 0; i < n; ++i)
        out[i] = static_cast<To>(bfloat_to_float(t.data<uint16_t>()[i]));
      break;
    case DType::i4:
    case DType::i8: copy(t.data<int8_t>()); break;
    case DType::i16: copy(t.data<int16_t>()); break;
    case DType::i32: copy(t.data<int32_t>()); break;
    case DType::i64: copy(t.data<int64_t>()); break;
    case DType::u4:
    case DType::u8: copy(t.data<uint8_t>()); break;
    case DType::u16: copy(t.data<uint16_t>()); break;
    case DType::u32: copy(t.data<uint32_t>()); break;
    case DType::u64: copy(t.data<uint64_t>()); break;
    case DType::boolean: copy(t.data<bool>()); break;
    default: fail(Code::refused, "numbers are wanted where ", t.spec().str(), " was found");
  }
  return out;
}

}  // namespace

std::vector<int64_t> Tensor::to_ints() const {
  switch (dtype_) {
    case DType::f32:
    case DType::f64:
    case DType::f16:
    case DType::bf16:
    case DType::none:
    case DType::f8e4m3:
    case DType::f8e4m3fnuz:
    case DType::f8e5m2:
    case DType::f8e5m2fnuz:
      fail(Code::refused, "integers are wanted where ", spec().str(), " was found");
    default: return convert<int64_t>(*this);
  }
}

std::vector<float> Tensor::to_floats() const { return convert<float>(*this); }

float bfloat_to_float(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

uint16_t float_to_bfloat(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffffU) > 0x7f800000U) return static_cast<uint16_t>((bits >> 16) | 0x40);
  return static_cast<uint16_t>((bits + 0x7fffU + ((bits >> 16) & 1)) >> 16);
}

float half_to_float(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000) << 16;
  const uint32_t exponent = (half >> 10) & 31;
  const uint32_t mantissa = half & 0x3ff;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000U | (mantissa << 13));
  if (exponent != 0)
    return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
  const float subnormal = static_cast<float>(mantissa) * 0x1p-24F;
  return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(subnormal));
}

uint16_t float_to_half(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const auto sign = static_cast<uint16_t>((bits >> 16) & 0x8000);
  const uint32_t magnitude = bits & 0x7fffffffU;
  if (magnitude > 0x7f800000U) return static_cast<uint16_t>(sign | 0x7e00);
  if (magnitude >= 0x477ff000U) return static_cast<uint16_t>(sign | 0x7c00);  // rounds to infinity
  if (magnitude < 0x38800000U) {
    // Subnormal half: adding 0.5 shifts the mantissa into place with the processor's own rounding.
    const float shifted = std::bit_cast<float>(magnitude) + 0.5F;
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(shifted) - 0x3f000000U));
  }
  const uint32_t rounded = magnitude + 0xfffU + ((magnitude >> 13) & 1) - (112U << 23);
  return static_cast<uint16_t>(sign | (rounded >> 13));
}

}  // namespace hub
