// What the reference kernels share: dispatch on the element type, axes, broadcasting, walking
// strided memory.
#pragma once

#include <omp.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "base/error.h"
#include "runtime/op.h"

namespace hub {

// ---- element types ----

/// The 16-bit floats as types of their own; arithmetic happens in float (see wide_t).
struct Half {
  uint16_t bits;
  Half() = default;
  explicit Half(float v) : bits(float_to_half(v)) {}
  operator float() const { return half_to_float(bits); }
};
struct BFloat {
  uint16_t bits;
  BFloat() = default;
  explicit BFloat(float v) : bits(float_to_bfloat(v)) {}
  operator float() const { return bfloat_to_float(bits); }
};
template <>
constexpr DType dtype_of<Half>() {
  return DType::f16;
}
template <>
constexpr DType dtype_of<BFloat>() {
  return DType::bf16;
}

template <class T>
constexpr bool is_float =
    std::is_floating_point_v<T> || std::is_same_v<T, Half> || std::is_same_v<T, BFloat>;
/// What to compute in for elements of type T.
template <class T>
using wide_t = std::conditional_t<std::is_same_v<T, Half> || std::is_same_v<T, BFloat>, float, T>;

/// A number of one type in another: floats become integers by truncation, limited to the range of
/// the type, NaN becoming 0; integers wrap into narrower ones; anything but zero is true.
template <class To, class From>
To convert(From v) {
  if constexpr (std::is_same_v<To, bool>) {
    return v != 0;
  } else if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>) {
    // The limits as floats: the upper one is the power of two just above, which is exact.
    constexpr auto low = static_cast<From>(std::numeric_limits<To>::min());
    const From above = std::ldexp(From{1}, std::numeric_limits<To>::digits);
    if (std::isnan(v)) return 0;
    if (v < low) return std::numeric_limits<To>::min();
    if (v >= above) return std::numeric_limits<To>::max();
    return static_cast<To>(v);
  } else {
    return static_cast<To>(v);
  }
}

template <class... T>
struct Types {};
template <class... A, class... B>
Types<A..., B...> operator+(Types<A...>, Types<B...>) {
  return {};
}

using Floats = Types<float, double, Half, BFloat>;
using Integers = Types<int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t>;
using Numbers = decltype(Floats{} + Integers{});
using Everything = decltype(Numbers{} + Types<bool>{});

template <class... T>
bool one_of_types(Types<T...>, DType dtype) {
  return ((dtype_of<T>() == dtype) || ...);
}

/// Calls f.operator()<T>() with the element type of `dtype`; Code::unsupported when it is not one
/// of the list.
template <class... T, class F>
void dispatch(Types<T...>, DType dtype, F&& f) {
  const bool done = ((dtype_of<T>() == dtype && (f.template operator()<T>(), true)) || ...);
  if (!done) fail(Code::unsupported, "not defined for ", name_of(dtype));
}

/// The same by size, for kernels that only move elements (strings too; a list has one element,
/// which is not moved).
template <class F>
void dispatch_size(DType dtype, F&& f) {
  switch (size_of(dtype)) {
    case 1: f.template operator()<uint8_t>(); break;
    case 2: f.template operator()<uint16_t>(); break;
    case 4: f.template operator()<uint32_t>(); break;
    case sizeof(std::string): f.template operator()<std::string>(); break;
    default: f.template operator()<uint64_t>(); break;
  }
}

// ---- checks ----

/// Throws Code::unsupported unless input i has one of the types.
template <class... T>
void check_type(const Infer& in, size_t i, Types<T...> types) {
  if (!one_of_types(types, in.in(i).dtype))
    fail(Code::unsupported, "input ", i, " is ", in.in(i).str());
}
/// Throws Code::refused unless inputs i and j have the same type.
void check_same_type(const Infer& in, size_t i, size_t j);
/// An axis that may count from the back, as an index below `rank`; refused out of range.
size_t axis_of(int64_t axis, size_t rank);
/// Several, in the order given; a repeated one is refused.
std::vector<size_t> axes_of(std::span<const int64_t> axes, size_t rank);
/// Input i, which must be int32 or int64 (or another integer) of at most one dimension, as numbers.
std::vector<int64_t> ints_of(const Infer& in, size_t i);
/// The same, or the fallback when input i is absent.
std::vector<int64_t> ints_of(const Infer& in, size_t i, std::vector<int64_t> fallback);

// ---- strided walking ----

using Strides = std::array<int64_t, Shape::max_rank>;

/// In elements, row-major.
Strides strides_of(const Shape& shape);
/// NumPy's rule for two shapes; refused when they do not go together.
Shape broadcast(const Shape& a, const Shape& b);
/// Strides that walk a tensor of shape `from` as if it had shape `to`: 0 where it repeats.
Strides broadcast_strides(const Shape& from, const Shape& to);

/// A walk over `shape` that steps through N tensors, each with its own strides and start;
/// neighbouring dimensions that can be walked as one are merged.
template <size_t N>
struct Walk {
  Shape shape;
  std::array<Strides, N> strides;
  std::array<int64_t, N> start{};
};

/// Drops dimensions of 1 and merges those that are contiguous for all; at least one dimension is
/// left.
template <size_t N>
Walk<N> merged(const Walk<N>& walk) {
  Walk<N> m;
  m.start = walk.start;
  size_t rank = 0;
  for (size_t d = 0; d < walk.shape.rank(); ++d) {
    if (walk.shape[d] == 1) continue;
    bool joins = rank > 0;
    for (size_t k = 0; joins && k < N; ++k)
      joins = m.strides[k][rank - 1] == walk.strides[k][d] * walk.shape[d];
    if (!joins) {
      m.shape.push_back(1);
      ++rank;
    }
    m.shape[rank - 1] *= walk.shape[d];
    for (size_t k = 0; k < N; ++k) m.strides[k][rank - 1] = walk.strides[k][d];
  }
  if (rank == 0) {
    m.shape.push_back(1);
    for (size_t k = 0; k < N; ++k) m.strides[k][0] = 0;
  }
  return m;
}

/// Calls f(row, count, at, step) for each row: `row` elements came before in row-major order of the
/// walk, `at[k]` is where tensor k begins and `step[k]` how far its next element is.
template <size_t N, class F>
void each_row(const Walk<N>& unmerged, F&& f) {
  if (unmerged.shape.numel() == 0) return;
  const Walk<N> w = merged(unmerged);
  const size_t outer = w.shape.rank() - 1;
  const int64_t count = w.shape[outer];
  std::array<int64_t, N> step;
  for (size_t k = 0; k < N; ++k) step[k] = w.strides[k][outer];
  std::array<int64_t, N> at = w.start;
  std::array<int64_t, Shape::max_rank> index{};
  for (int64_t row = 0;; row += count) {
    f(row, count, at, step);
    size_t d = outer;
    for (; d > 0; --d) {
      for (size_t k = 0; k < N; ++k) at[k] += w.strides[k][d - 1];
      if (++index[d - 1] < w.shape[d - 1]) break;
      for (size_t k = 0; k < N; ++k) at[k] -= w.strides[k][d - 1] * w.shape[d - 1];
      index[d - 1] = 0;
    }
    if (d == 0) return;
  }
}

/// out[i…] = in[start + Σ strides · i]: every rearrangement of elements (transpose, slice, expand)
/// is this.
void copy_strided(const Tensor& in, int64_t start, const Strides& strides, Tensor& out);

/// Copies `count` elements of any kind, to y from element y_at on.
void copy_elements(const Tensor& x, int64_t x_at, int64_t count, Tensor& y, int64_t y_at);

/// A tensor seen as [outer, length of the axis, inner].
struct AxisView {
  int64_t outer, length, inner;
  AxisView(const Shape& shape, size_t axis)
      : outer(shape.numel(0, axis)),
        length(shape[axis]),
        inner(shape.numel(axis + 1, shape.rank())) {}
};

/// Runs f(begin, end) over pieces of [0, n) of at least `grain` on the threads of the team. f must
/// not throw.
template <class F>
void parallel(int64_t n, int64_t grain, F&& f) {
  const int64_t pieces = std::min<int64_t>(omp_get_max_threads(), n / grain);
  if (pieces <= 1) return f(int64_t{0}, n);
#pragma omp parallel for num_threads(pieces) schedule(static)
  for (int64_t p = 0; p < pieces; ++p) f(n * p / pieces, n * (p + 1) / pieces);
}

}  // namespace hub
