// Small things that the definitions of the neural-network operators share.
#pragma once

#include "runtime/ops/kernel.h"

namespace hub {

using Reals = Types<float, double>;

/// Input i: floating point, with at least `least` and at most `most` dimensions.
const Spec& real_input(const Infer& infer, size_t i, size_t least = 0,
                       size_t most = Shape::max_rank);
/// Input i, if it is there, must be exactly this.
void want(const Infer& infer, size_t i, const Spec& spec);
/// The same where it must not be absent.
void need(const Infer& infer, size_t i, const Spec& spec);

/// Runs f, which knows float and double only: 16-bit floats go in and out through float.
void run_widened(const Call& call, void (*f)(const Call&));
template <void (*f)(const Call&)>
void widened(const Call& call) {
  run_widened(call, f);
}

/// The numbers of a float32 or float64 tensor.
std::vector<double> to_doubles(const Tensor& t);
/// Element i of a float32 or float64 tensor.
inline void set(Tensor& t, int64_t i, double value) {
  if (t.dtype() == DType::f64) {
    t.data<double>()[i] = value;
  } else {
    t.data<float>()[i] = static_cast<float>(value);
  }
}

/// The spatial dimensions of [N, C, …].
inline std::span<const int64_t> spatial(const Shape& s) { return {s.begin() + 2, s.end()}; }

/// Offsets of sequences over `rows` rows, checked: an int64 list [0, …, rows] that never falls.
std::span<const int64_t> checked_offsets(const Tensor& offsets, int64_t rows);

}  // namespace hub
