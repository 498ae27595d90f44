// Elements of one type with a shape: plain, contiguous, row-major.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hub {

enum class DType : uint8_t {
  none,
  f32,
  f64,
  f16,
  bf16,
  i8,
  i16,
  i32,
  i64,
  u8,
  u16,
  u32,
  u64,
  boolean,
  f8e4m3,
  f8e4m3fnuz,
  f8e5m2,
  f8e5m2fnuz,
  i4,  ///< one element a byte
  u4,
  string,  ///< each element a std::string
  list     ///< one element, of rank 0: a std::vector of tensors, which may differ in all
};

/// Whether elements are numbers that may be copied as bytes; strings and lists are not.
constexpr bool is_plain(DType dtype) { return dtype != DType::string && dtype != DType::list; }

/// Bytes of one element.
size_t size_of(DType dtype);
/// "float32", "int64", "bool"…, as NumPy says it.
std::string_view name_of(DType dtype);
/// The dtype called so, or none.
DType dtype_named(std::string_view name);

/// Up to 8 dimensions, kept inline. A dimension of -1 is one not known yet; it occurs only in
/// declarations.
class Shape {
 public:
  static constexpr size_t max_rank = 8;
  Shape() = default;
  Shape(std::initializer_list<int64_t> dims) : Shape(std::span(dims.begin(), dims.size())) {}
  /// Throws Code::unsupported above max_rank.
  explicit Shape(std::span<const int64_t> dims);

  size_t rank() const { return rank_; }
  int64_t operator[](size_t i) const { return dims_[i]; }
  int64_t& operator[](size_t i) { return dims_[i]; }
  const int64_t* begin() const { return dims_.data(); }
  const int64_t* end() const { return dims_.data() + rank_; }
  int64_t back() const { return dims_[rank_ - 1]; }
  void push_back(int64_t dim);
  std::vector<int64_t> vec() const { return {begin(), end()}; }

  /// Product of the dimensions; throws Code::refused on a negative one or when the product passes
  /// 2^62.
  int64_t numel() const;
  /// Product of dimensions [from, to).
  int64_t numel(size_t from, size_t to) const;
  bool known() const;       ///< no dimension is -1
  std::string str() const;  ///< "[1, 3, ?, 224]"
  bool operator==(const Shape& other) const;

 private:
  std::array<int64_t, max_rank> dims_{};
  uint8_t rank_ = 0;
};

/// Type and shape, without numbers.
struct Spec {
  DType dtype = DType::none;
  Shape shape;
  bool operator==(const Spec&) const = default;
  std::string str() const;  ///< "float32[1, 3]"
};

/// Bytes of a tensor of this kind; throws Code::refused when it cannot be addressed.
size_t bytes_of(const Spec& spec);

class Tensor {
 public:
  Tensor() = default;
  /// 64-byte aligned; numbers are not initialised, strings and lists are empty.
  Tensor(DType dtype, const Shape& shape);
  /// A view of memory that `owner` keeps alive. Not to be written to when it is a mapped file.
  Tensor(DType dtype, const Shape& shape, std::shared_ptr<const void> owner, const void* data);
  template <class T>
  static Tensor of(const Shape& shape, std::span<const T> values);
  static Tensor floats(const Shape& shape, const std::vector<float>& values);
  static Tensor ints(const std::vector<int64_t>& values);  ///< one dimension, int64
  static Tensor scalar(float value);                       ///< rank 0, float32
  static Tensor strings(const Shape& shape, std::vector<std::string> values);
  /// A list: a sequence or an optional tensor of ONNX (none or one), a tensor array of Paddle.
  static Tensor list(std::vector<Tensor> items);

  explicit operator bool() const { return dtype_ != DType::none; }
  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  Spec spec() const { return {dtype_, shape_}; }
  int64_t numel() const { return shape_.numel(); }
  size_t bytes() const { return bytes_of(spec()); }
  const void* raw() const { return data_; }
  void* raw() { return data_; }
  template <class T>
  const T* data() const {
    return static_cast<const T*>(data_);
  }
  template <class T>
  T* data() {
    return static_cast<T*>(data_);
  }
  template <class T>
  std::span<const T> values() const {
    return {data<T>(), static_cast<size_t>(numel())};
  }
  /// What a list holds; throws Code::refused when this is none.
  const std::vector<Tensor>& items() const;
  /// The same numbers seen with another shape of as many elements; shares the memory.
  Tensor reshaped(const Shape& shape) const;
  /// Its own memory, not shared with anything.
  Tensor clone() const;
  /// Any integer (or bool) tensor as int64 values.
  std::vector<int64_t> to_ints() const;
  /// Any real tensor as float values.
  std::vector<float> to_floats() const;
  const std::shared_ptr<const void>& owner() const { return owner_; }

 private:
  template <class T>
  void own(std::shared_ptr<T[]> objects) {
    data_ = objects.get();
    owner_ = std::move(objects);
  }
  DType dtype_ = DType::none;
  Shape shape_;
  std::shared_ptr<const void> owner_;
  void* data_ = nullptr;
};

/// The dtype of a C++ type.
template <class T>
constexpr DType dtype_of();
template <>
constexpr DType dtype_of<float>() {
  return DType::f32;
}
template <>
constexpr DType dtype_of<double>() {
  return DType::f64;
}
template <>
constexpr DType dtype_of<int8_t>() {
  return DType::i8;
}
template <>
constexpr DType dtype_of<int16_t>() {
  return DType::i16;
}
template <>
constexpr DType dtype_of<int32_t>() {
  return DType::i32;
}
template <>
constexpr DType dtype_of<int64_t>() {
  return DType::i64;
}
template <>
constexpr DType dtype_of<uint8_t>() {
  return DType::u8;
}
template <>
constexpr DType dtype_of<uint16_t>() {
  return DType::u16;
}
template <>
constexpr DType dtype_of<uint32_t>() {
  return DType::u32;
}
template <>
constexpr DType dtype_of<uint64_t>() {
  return DType::u64;
}
template <>
constexpr DType dtype_of<bool>() {
  return DType::boolean;
}
template <>
constexpr DType dtype_of<std::string>() {
  return DType::string;
}

template <class T>
Tensor Tensor::of(const Shape& shape, std::span<const T> values) {
  Tensor t(dtype_of<T>(), shape);
  for (size_t i = 0; i < values.size() && i < static_cast<size_t>(t.numel()); ++i)
    t.data<T>()[i] = values[i];
  return t;
}

float half_to_float(uint16_t half);
uint16_t float_to_half(float value);  ///< round to nearest even
float bfloat_to_float(uint16_t bits);
uint16_t float_to_bfloat(float value);  ///< round to nearest even

}  // namespace hub
