#include "runtime/ops/indices.h"

namespace hub {
namespace {

int64_t checked(int64_t index, int64_t length) {
  if (index < -length || index >= length) {
    fail(Code::refused, "index ", index, " is outside of a dimension of ", length);
  }
  return index < 0 ? index + length : index;
}

}  // namespace

std::vector<int64_t> checked_indices(const Tensor& indices, int64_t length) {
  auto out = indices.to_ints();
  for (int64_t& i : out) i = checked(i, length);
  return out;
}

void check_inside(const Infer& in, const Shape& indices, size_t axis) {
  const Shape& data = in.in(0).shape;
  bool fits = indices.rank() == data.rank();
  for (size_t d = 0; fits && d < data.rank(); ++d) fits = d == axis || indices[d] <= data[d];
  if (!fits)
    fail(Code::refused, "indices ", indices.str(), " along axis ", axis, " of ", data.str());
}

Tuples::Tuples(const Tensor& indices, const Shape& data, size_t from) {
  const auto numbers = indices.to_ints();
  const auto k = static_cast<size_t>(indices.shape().back());
  const Strides strides = strides_of(data);
  slice = data.numel(from + k, data.rank());
  starts.assign(static_cast<size_t>(indices.shape().numel(0, indices.shape().rank() - 1)), 0);
  for (size_t i = 0; i < starts.size(); ++i) {
    for (size_t j = 0; j < k; ++j)
      starts[i] += checked(numbers[i * k + j], data[from + j]) * strides[from + j];
  }
}

}  // namespace hub
