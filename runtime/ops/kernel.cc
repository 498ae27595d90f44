#include "runtime/ops/kernel.h"

namespace hub {

void check_same_type(const Infer& in, size_t i, size_t j) {
  if (in.in(i).dtype != in.in(j).dtype) {
    fail(Code::refused, "inputs ", i, " and ", j, " are ", in.in(i).str(), " and ", in.in(j).str(),
         ": the same type is wanted");
  }
}

size_t axis_of(int64_t axis, size_t rank) {
  const auto r = static_cast<int64_t>(rank);
  if (axis < -r || axis >= r)
    fail(Code::refused, "axis ", axis, " of a tensor of ", r, " dimensions");
  return static_cast<size_t>(axis < 0 ? axis + r : axis);
}

std::vector<size_t> axes_of(std::span<const int64_t> axes, size_t rank) {
  std::vector<size_t> out;
  std::array<bool, 2 * Shape::max_rank> seen{};
  for (int64_t a : axes) {
    const size_t axis = axis_of(a, rank);
    if (seen[axis]) fail(Code::refused, "axis ", a, " is named twice");
    seen[axis] = true;
    out.push_back(axis);
  }
  return out;
}

std::vector<int64_t> ints_of(const Infer& in, size_t i) {
  if (in.in(i).shape.rank() > 1)
    fail(Code::refused, "input ", i, " is ", in.in(i).str(), ": a list is wanted");
  return in.value(i).to_ints();
}
std::vector<int64_t> ints_of(const Infer& in, size_t i, std::vector<int64_t> fallback) {
  return in.has(i) ? ints_of(in, i) : std::move(fallback);
}

Strides strides_of(const Shape& shape) {
  Strides s{};
  uint64_t step = 1;  // may wrap where a dimension of 0 stands before large ones
  for (size_t d = shape.rank(); d-- > 0;) {
    s[d] = static_cast<int64_t>(step);
    step *= static_cast<uint64_t>(shape[d]);
  }
  return s;
}

Shape broadcast(const Shape& a, const Shape& b) {
  const Shape& longer = a.rank() >= b.rank() ? a : b;
  const Shape& shorter = a.rank() >= b.rank() ? b : a;
  Shape out = longer;
  const size_t skip = longer.rank() - shorter.rank();
  for (size_t d = 0; d < shorter.rank(); ++d) {
    const int64_t x = longer[skip + d];
    const int64_t y = shorter[d];
    if (x != y && x != 1 && y != 1)
      fail(Code::refused, "shapes ", a.str(), " and ", b.str(), " do not broadcast");
    out[skip + d] = x == 1 ? y : x;
  }
  return out;
}

Strides broadcast_strides(const Shape& from, const Shape& to) {
  const Strides own = strides_of(from);
  const size_t skip = to.rank() - from.rank();
  Strides s{};
  for (size_t d = 0; d < from.rank(); ++d) s[skip + d] = from[d] == 1 ? 0 : own[d];
  return s;
}

void copy_elements(const Tensor& x, int64_t x_at, int64_t count, Tensor& y, int64_t y_at) {
  if (x.dtype() == DType::string) {
    std::copy_n(x.data<std::string>() + x_at, count, y.data<std::string>() + y_at);
  } else if (x.dtype() == DType::list) {
    *y.data<std::vector<Tensor>>() = x.items();
  } else {
    const size_t size = size_of(x.dtype());
    std::copy_n(x.data<std::byte>() + static_cast<size_t>(x_at) * size,
                static_cast<size_t>(count) * size,
                y.data<std::byte>() + static_cast<size_t>(y_at) * size);
  }
}

void copy_strided(const Tensor& in, int64_t start, const Strides& strides, Tensor& out) {
  dispatch_size(out.dtype(), [&]<class T>() {
    const T* x = in.data<T>();
    T* y = out.data<T>();
    each_row(
        Walk<1>{out.shape(), {strides}, {start}},
        [&](int64_t row, int64_t count, std::array<int64_t, 1> at, std::array<int64_t, 1> step) {
          if (step[0] == 1) {
            std::copy_n(x + at[0], count, y + row);
          } else if (step[0] == 0) {
            std::fill_n(y + row, count, x[at[0]]);
          } else {
            for (int64_t i = 0; i < count; ++i) y[row + i] = x[at[0] + i * step[0]];
          }
        });
  });
}

}  // namespace hub
