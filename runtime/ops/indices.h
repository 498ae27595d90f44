// Index tensors: checked against what they point into, for the operators that read or write by
// index.
#pragma once

#include <vector>

#include "runtime/ops/kernel.h"

namespace hub {

using IndexTypes = Types<int32_t, int64_t>;

/// The indices as numbers in [0, length); negative ones count from the back. Throws Code::refused
/// out of range.
std::vector<int64_t> checked_indices(const Tensor& indices, int64_t length);

/// Refused unless `indices` has the rank of input 0 and is no larger but along `axis`.
void check_inside(const Infer& in, const Shape& indices, size_t axis);

/// For each element i of a tensor shaped `indices`: f(i, offset in a tensor shaped `data` of its
/// index with 0 along axis).
template <class F>
void each_element_beside(const Shape& indices, const Shape& data, size_t axis, F&& f) {
  Strides strides = strides_of(data);
  strides[axis] = 0;
  each_row(Walk<1>{indices, {strides}},
           [&](int64_t row, int64_t n, std::array<int64_t, 1> at, std::array<int64_t, 1> step) {
             for (int64_t i = 0; i < n; ++i) f(row + i, at[0] + i * step[0]);
           });
}

/// indices[…, k], each k numbers naming dimensions [from, from + k) of `data`: where the slices
/// they name begin (counted from the start of their batch) and how many elements a slice has.
struct Tuples {
  std::vector<int64_t> starts;
  int64_t slice = 1;
  Tuples(const Tensor& indices, const Shape& data, size_t from);
};

}  // namespace hub
